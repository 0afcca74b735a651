import { describe, expect, it } from 'vitest';
import { StderrTail } from './stderr-tail.ts';

const after = (secrets: readonly string[], ...chunks: (string | Buffer)[]): readonly string[] => {
  const tail = new StderrTail(secrets);
  for (const chunk of chunks) tail.push(Buffer.from(chunk));
  return tail.lines();
};

describe('the last lines of stderr', () => {
  it('are the last five, whole, whatever pieces they came in', () => {
    const text = Buffer.from('one\r\ntwo\n\nthree\nfour\nfive\nsix ąžuolas\n  at seven');
    const bytes = Array.from(text, (_, at) => text.subarray(at, at + 1));
    expect(after([], ...bytes)).toEqual(['three', 'four', 'five', 'six ąžuolas', 'at seven']);
  });

  it('hold no secret, also one that is part of another or was cut', () => {
    expect(after(['hunter2', 'hunter2-and-more'], 'KEY=hunter2-and-more x=hunter2\n')).toEqual([
      'KEY=[secret] x=[secret]',
    ]);
    const lines = after(['s'.repeat(3_000)], 's'.repeat(3_000), 'y'.repeat(2_000), '\nthe end\n');
    expect(lines).toEqual(['the end']);
  });

  it('leave alone what is too short to be a secret', () => {
    expect(after(['1', 'on'], 'error 1 on line 1')).toEqual(['error 1 on line 1']);
  });
});
