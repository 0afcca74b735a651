import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOutput } from './output.ts';
import type { Output } from './output.ts';

interface Made {
  readonly output: Output;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** An output whose streams are a terminal, or are not. */
function made(options: {
  readonly isTerminal: boolean;
  readonly isQuiet?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}): Made {
  const texts = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof texts): NodeJS.WriteStream => {
    const writable = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        texts[name] += chunk.toString();
        done();
      },
    });
    return Object.assign(writable, {
      isTTY: options.isTerminal,
      columns: 72,
    }) as unknown as NodeJS.WriteStream;
  };
  const output = createOutput({
    isJson: false,
    isQuiet: options.isQuiet ?? false,
    env: options.env ?? {},
    stdout: stream('stdout'),
    stderr: stream('stderr'),
  });
  return { output, stdout: () => texts.stdout, stderr: () => texts.stderr };
}

describe('colours', () => {
  it.each([
    ['on a terminal', true, {}, true],
    ['elsewhere', false, {}, false],
    ['with NO_COLOR', true, { NO_COLOR: '1' }, false],
    ['with an empty NO_COLOR, which counts as none', true, { NO_COLOR: '' }, true],
    ['on a terminal that obeys nothing', true, { TERM: 'dumb' }, false],
  ])('%s', (_where, isTerminal, env, hasColour) => {
    expect(made({ isTerminal, env }).output.hasColour).toBe(hasColour);
  });
});

describe('quiet', () => {
  it('leaves out notes and progress, not results and errors', async () => {
    const { output, stdout, stderr } = made({ isTerminal: false, isQuiet: true });
    output.note('a note');
    output.progress('waiting')();
    output.error('a mistake');
    await output.print('a result');
    expect({ stdout: stdout(), stderr: stderr() }).toEqual({
      stdout: 'a result\n',
      stderr: 'mcpproxy: a mistake\n',
    });
  });
});

describe('progress', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('says nothing of what is done soon', () => {
    const { output, stderr } = made({ isTerminal: true });
    const end = output.progress('waiting…');
    vi.advanceTimersByTime(1_000);
    end();
    vi.advanceTimersByTime(10_000);
    expect(stderr()).toBe('');
  });

  it('is one plain line where there is no terminal', () => {
    const { output, stderr } = made({ isTerminal: false });
    const end = output.progress('waiting…');
    vi.advanceTimersByTime(20_000);
    end();
    expect(stderr()).toBe('waiting…\n');
  });

  it('counts the seconds on a terminal, in a line that goes away', () => {
    const { output, stderr } = made({ isTerminal: true });
    const end = output.progress('waiting…');
    vi.advanceTimersByTime(3_600);
    end();
    expect(stderr()).toBe('\r\u001B[Kwaiting… 2 s\r\u001B[Kwaiting… 3 s\r\u001B[Kwaiting… 4 s\r\u001B[K');
  });

  it('makes room for a note in between', () => {
    const { output, stderr } = made({ isTerminal: true });
    const end = output.progress('waiting…');
    vi.advanceTimersByTime(1_500);
    output.note('a note');
    end();
    expect(stderr()).toBe('\r\u001B[Kwaiting… 2 s\r\u001B[Ka note\n');
  });
});
