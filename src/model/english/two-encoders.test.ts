import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeEnglishModel } from '../../../test/support/english-model.ts';
import { writePackedModel } from '../../../test/support/packed-model.ts';
import { openPackedEncoder } from '../packed/packed-encoder.ts';
import { EnglishEncoder } from './english-encoder.ts';
import { openTwoEncoders } from './two-encoders.ts';

const folder = mkdtempSync(join(tmpdir(), 'two-'));
const first = join(folder, 'encoder.safetensors');
writePackedModel(first, { added: { '▁ąžuolas': -8, '▁': -5, ė: -6 } });
const base = openPackedEncoder(first);
const second = join(folder, 'english.safetensors');
// Everything the base reads is English, but for letters beyond ASCII.
const english = { scale: 0, bias: 1, accent: -3 };
writeEnglishModel(second, { baseDigest: base.digest, metadata: { english } });
const two = openTwoEncoders(first, second);
const alone = new EnglishEncoder(second);

function sum(...weighted: readonly (readonly [number, Float32Array])[]): Float32Array {
  return new Float32Array(384).map((_, i) => weighted.reduce((sum, [weight, v]) => sum + weight * v[i]!, 0));
}

function expectClose(found: Float32Array, expected: Float32Array): void {
  expect(found.length).toBe(expected.length);
  expect(Math.max(...found.map((number, i) => Math.abs(number - expected[i]!)))).toBeLessThan(1e-6);
}

describe('two encoders as one', () => {
  it('give a document both their vectors, which can be had one by one', () => {
    const text = 'list the open issues';
    expect(two.dimensions).toBe(896);
    expect(two.parts?.map(({ dimensions }) => dimensions)).toEqual([512, 384]);
    const [quick, slow] = two.parts!.map((part) => part.encode(text));
    const whole = two.encode(text, 'document');
    expect(whole).toHaveLength(896);
    expect(whole.subarray(0, 512)).toEqual(quick);
    expect(whole.subarray(512)).toEqual(slow);
    expect(quick).toEqual(base.encode(text, 'document'));
    expect(slow).toEqual(alone.encodeText(text, 24));
  });

  it('ask the second about an English question’s words and where the first vector leads', () => {
    const question = 'open the list';
    const whole = two.encode(question, 'question');
    const vector = base.encode(question, 'question');
    expect(whole.subarray(0, 512)).toEqual(vector);
    expectClose(whole.subarray(512), sum([1, alone.encodeText(question, 20)], [0.5, alone.reach(vector)]));
  });

  it.each(['ąžuolas ė', 'open the líst'])(
    'ask the second about where the first’s vector and rows lead when it is not: %s',
    (question) => {
      const { vector, rows } = base.read(question, 'question');
      const whole = two.encode(question, 'question');
      expect(whole.subarray(0, 512)).toEqual(vector);
      expect(rows(20).length).toBeGreaterThan(512);
      expectClose(whole.subarray(512), sum([0.25, alone.reach(vector)], [0.75, alone.encodeRows(rows(20))]));
    },
  );

  it('have ids of their own, of which the first part’s is the first encoder’s', () => {
    expect(two.parts![0]!.id).toBe(base.id);
    expect(two.parts![1]!.id).toMatch(/^english-[0-9a-f]{32}$/);
    expect(two.id).not.toBe(base.id);
  });

  it('are refused when the second was made for another first', () => {
    const other = join(folder, 'other.safetensors');
    writePackedModel(other, { seed: 2 });
    expect(() => openTwoEncoders(other, second)).toThrow(
      expect.objectContaining({
        code: 'model_invalid',
        message: expect.stringContaining('made for another first encoder') as string,
      }) as Error,
    );
    const independent = join(folder, 'independent.safetensors');
    writeEnglishModel(independent);
    openTwoEncoders(other, independent).close();
  });
});

describe('the rows of a text the first encoder read', () => {
  it('are those of its pieces, without begin and end, up to a limit', () => {
    const { rows, isBase } = base.read('open the list', 'question');
    expect(isBase).toBe(true);
    expect(rows(9)).toHaveLength(3 * 512);
    expect(rows(2)).toEqual(rows(9).subarray(0, 2 * 512));
    expect(base.read('ąžuolas ė', 'question').isBase).toBe(false);
    expect(base.read('', 'question').rows(9)).toHaveLength(0);
  });
});
