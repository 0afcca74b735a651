import type { LookupFunction } from 'node:net';
import { mistakeInAddress } from './address.ts';
import type { AddressRules } from './address.ts';

/** A connection was not made, because the address it would have gone to is forbidden. */
export class ForbiddenAddress extends Error {
  readonly code = 'FORBIDDEN_ADDRESS';
}

/** A resolver that gives no address the rules forbid. One forbidden address among several forbids the name. */
export function guardedLookup(lookup: LookupFunction, rules: AddressRules): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, addresses, family) => {
      if (error !== null) return callback(error, addresses, family);
      for (const each of Array.isArray(addresses) ? addresses : [{ address: addresses }]) {
        const mistake = mistakeInAddress(each.address, rules);
        if (mistake === undefined) continue;
        return callback(new ForbiddenAddress(`${hostname}: ${mistake}`), '', 0);
      }
      callback(null, addresses, family);
    });
  };
}

/** Why a connection was refused, when that is what is at the bottom of an error. */
export function forbiddenIn(thrown: unknown): string | undefined {
  for (let error: unknown = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof ForbiddenAddress) return error.message;
    if (error instanceof AggregateError) {
      for (const one of error.errors) {
        const found = forbiddenIn(one);
        if (found !== undefined) return found;
      }
    }
  }
  return undefined;
}
