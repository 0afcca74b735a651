import { createHmac, randomBytes } from 'node:crypto';
import { Secret } from '../base/secret.ts';

/** Who sends a request, known only by the credential they present. */
export interface Caller {
  /** Their `Authorization` header; absent for an anonymous caller, who is one caller like any other. */
  readonly credential?: Secret;
}

/** The one caller of a local run, and everybody who presents nothing. */
export const ANONYMOUS: Caller = {};

/** The caller behind an `Authorization` header. An empty one is no credential. */
export function callerOf(authorization: string | null | undefined): Caller {
  if (authorization === null || authorization === undefined || authorization.trim() === '') return ANONYMOUS;
  return { credential: new Secret(authorization) };
}

/** Gives the key under which a caller's things at a place (an upstream, or the view of all) are kept. */
export type CallerKey = (place: string, caller: Caller) => string;

/**
 * Keys are HMAC-SHA-256 under a random key of this process: they cannot be checked against guessed tokens in a
 * memory dump, nor linked over restarts. No claim inside the token is used; it could not be trusted unverified.
 */
export function createCallerKey(): CallerKey {
  const key = randomBytes(32);
  return (place, caller) => {
    const hmac = createHmac('sha256', key)
      .update(`${Buffer.byteLength(place)}:`)
      .update(place);
    if (caller.credential !== undefined) hmac.update('credential').update(caller.credential.reveal());
    return hmac.digest('base64url');
  };
}

/** Gives the mark that log lines of one caller share; undefined for callers without a credential. */
export type CallerMark = (caller: Caller) => string | undefined;

/**
 * Marks are the first 8 hexadecimal digits of an HMAC-SHA-256 under a key of their own that is new with each start:
 * they tell lines of one caller from another's within one run, and nothing about who it is or what is kept for them.
 */
export function createCallerMark(): CallerMark {
  const key = randomBytes(32);
  return ({ credential }) =>
    credential === undefined
      ? undefined
      : createHmac('sha256', key).update(credential.reveal()).digest('hex').slice(0, 8);
}
