import { inspect } from 'node:util';

/**
 * A value that must never be printed: a credential, a configured header or environment value.
 * Every way of turning it into text gives `[secret]`; `reveal()` is the one way to the value, so that each use can
 * be found by searching for it.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
