import { LRUCache } from 'lru-cache';
import type { JsonObject, Tool } from '../catalog/tool.ts';
import { compileCheck } from './check-arguments.mjs';
import type { Check, Problem, Verdict } from './check-arguments.mjs';
import { createCheckerThread } from './checker-thread.ts';
import { isCheapSchema, weightOf } from './schema-cost.ts';

export type { Problem, Verdict };

/**
 * Checks arguments against a tool's own input schema. "Unchecked" means the schema could not be used: the call goes
 * on, and the upstream is the judge.
 */
export type ArgumentValidator = (tool: Tool, args: JsonObject) => Promise<Verdict>;

export interface ValidatorLimits {
  readonly maxSchemaBytes: number;
  /** Longest a check of a schema that may be slow is waited for, in milliseconds. */
  readonly validationMs: number;
}

/** Compiled schemas kept; one takes a few kilobytes. */
const MAX_COMPILED = 500;

/** Most parts of a schema times parts of the arguments that are checked here: some 20 ms at the worst. */
const MAX_WORK = 200_000;

/** How long a schema that overran its time is not tried again. */
const GIVEN_UP_MS = 600_000;

interface Known {
  readonly check: (args: JsonObject) => Verdict | Promise<Verdict>;
  readonly forget: () => void;
}

/**
 * A validator that cannot be held up: schemas that are cheap for any arguments are checked here, all others on a
 * thread of their own with a hard stop.
 */
export function createArgumentValidator(limits: ValidatorLimits): ArgumentValidator {
  const known = new LRUCache<string, Known>({ max: MAX_COMPILED, dispose: ({ forget }) => forget() });
  const givenUp = new LRUCache<string, true>({ max: MAX_COMPILED, ttl: GIVEN_UP_MS });
  const thread = createCheckerThread(limits.validationMs);

  async function learn({ digest, inputSchema }: Tool): Promise<Known> {
    if (JSON.stringify(inputSchema).length > limits.maxSchemaBytes) {
      return fixed(`its input schema is larger than ${limits.maxSchemaBytes} bytes (limit maxSchemaBytes)`);
    }
    const overrun = `checking its input schema takes longer than ${limits.validationMs} ms (limit validationMs)`;
    const checkApart = async (args: JsonObject): Promise<Verdict> => {
      const verdict = givenUp.has(digest) ? undefined : await thread.check(inputSchema, args);
      if (verdict !== undefined) return verdict;
      givenUp.set(digest, true);
      return { kind: 'unchecked', reason: overrun, isOverrun: true };
    };
    if (!isCheapSchema(inputSchema)) return { check: checkApart, forget: () => undefined };
    const { check, forget }: { check: Check; forget: () => void } = await compileCheck(inputSchema);
    const most = MAX_WORK / weightOf(inputSchema, MAX_WORK);
    return { check: (args) => (weightOf(args, most) > most ? checkApart(args) : check(args)), forget };
  }

  return async (tool, args) => {
    let how = known.get(tool.digest);
    if (how === undefined) {
      how = await learn(tool);
      known.set(tool.digest, how);
    }
    return how.check(args);
  };
}

function fixed(reason: string): Known {
  return { check: () => ({ kind: 'unchecked', reason }), forget: () => undefined };
}
