import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { askLine, isConfirmed } from './ask.ts';

function terminal(): { input: PassThrough; output: PassThrough; shown: () => string; signal: AbortSignal } {
  const input = new PassThrough();
  const output = new PassThrough();
  let text = '';
  output.on('data', (chunk: Buffer) => (text += chunk.toString()));
  // Without what moves the cursor.
  return {
    input,
    output,
    shown: () => stripVTControlCharacters(text),
    signal: new AbortController().signal,
  };
}

describe('a question', () => {
  it('to which a secret is the answer shows nothing of what is typed', async () => {
    const asking = terminal();
    const answer = askLine('Header Authorization: ', asking, { isHidden: true });
    await new Promise((resolve) => setImmediate(resolve));
    for (const key of ['s3', 'x', '\u007f', 'cret', '\r']) asking.input.write(key);
    expect(await answer).toBe('s3cret');
    expect(asking.shown()).toContain('Header Authorization: ');
    expect(asking.shown()).not.toMatch(/s3|cret|x/);
  });

  it('shows what is typed otherwise, and takes only a yes for one', async () => {
    for (const [typed, is] of [
      ['y', true],
      ['YES', true],
      ['yes please', false],
      ['', false],
    ] as const) {
      const asking = terminal();
      const answer = isConfirmed('Remove it?', asking);
      await new Promise((resolve) => setImmediate(resolve));
      asking.input.write(`${typed}\r`);
      expect(await answer).toBe(is);
      expect(asking.shown()).toContain(`Remove it? [y/N] ${typed}`);
    }
  });

  it('nobody answers is a no', async () => {
    const asking = terminal();
    const gone = isConfirmed('Remove it?', asking);
    await new Promise((resolve) => setImmediate(resolve));
    asking.input.end();
    expect(await gone).toBe(false);
    const stopped = new AbortController();
    const left = askLine('Name: ', { ...terminal(), signal: stopped.signal });
    stopped.abort();
    expect(await left).toBeUndefined();
  });
});
