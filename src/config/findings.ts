import { didYouMean } from './nearest.ts';
import type { Origin, Problem } from './problem.ts';

/** A misspelt word and what it could have been; put in words only at the end, because that costs an import. */
export interface Hint {
  readonly word: string;
  readonly among: readonly string[];
}

interface Finding extends Problem {
  readonly hint?: Hint;
}

/** Collects everything wrong or worth saying, so that all of it is said at once. */
export class Findings {
  readonly #problems: Finding[] = [];
  readonly #warnings: Finding[] = [];

  problem(origin: Origin, message: string, hint?: Hint): void {
    this.#problems.push(hint === undefined ? { origin, message } : { origin, message, hint });
  }

  warning(origin: Origin, message: string, hint?: Hint): void {
    this.#warnings.push(hint === undefined ? { origin, message } : { origin, message, hint });
  }

  async problems(): Promise<Problem[]> {
    return inWords(this.#problems);
  }

  async warnings(): Promise<Problem[]> {
    return inWords(this.#warnings);
  }
}

function inWords(findings: readonly Finding[]): Promise<Problem[]> {
  return Promise.all(
    findings.map(async ({ origin, message, hint }) => ({
      origin,
      message: hint === undefined ? message : message + (await didYouMean(hint.word, hint.among)),
    })),
  );
}
