import { describe, expect, it } from 'vitest';
import { Charsmap } from './charsmap.ts';

const RULES = {
  A: 'a',
  'A\u030a': 'å',
  e: 'e',
  'e\u0301': 'é',
  ﬁ: 'fi',
  '\u3000': ' ',
  '\u200b': '',
  '\u00a8': ' \u0308',
  '\r': ' ',
  '\u2460': '1',
};

const charsmap = new Charsmap(charsmapOf(RULES));
const longest = (text: string): string => Buffer.from(charsmap.normalizeLongest(text)).toString();

describe('a charsmap', () => {
  it('is read by the longest match, as sentencepiece does', () => {
    expect(longest('A\u030aA ﬁe\u0301e')).toBe('▁åa▁fiée');
    expect(longest('e\u0300')).toBe('▁e\u0300');
  });

  it('is read by whole graphemes and the shortest match, as Hugging Face does', () => {
    expect(charsmap.normalizeGraphemes('A\u030aA ﬁe\u0301e')).toBe('aa fiee');
    // Six bytes and more: each code point by itself.
    expect(charsmap.normalizeGraphemes('A\u030a\u0301\u0301')).toBe('a\u030a\u0301\u0301');
    expect(charsmap.normalizeGraphemes('\r\n')).toBe(' ');
    expect(charsmap.normalizeGraphemes('plain eA')).toBe('plain ea');
    expect(charsmap.normalizeGraphemes('①②')).toBe('1②');
  });

  it('has one space sign before every word and none at the end', () => {
    expect(longest('  two   words \u3000 ')).toBe('▁two▁words');
    expect(longest('')).toBe('');
    expect(longest(' \u3000\u200b ')).toBe('');
    expect(longest('\u200bx\u200b y')).toBe('▁x▁y');
  });

  it('takes a space sign of the text for a letter, but not at the end', () => {
    expect(longest('▁a▁ b')).toBe('▁▁a▁▁b');
    expect(longest('a▁▁')).toBe('▁a');
    expect(longest('▁')).toBe('');
  });

  it('keeps spaces within a replacement, and drops those after a space', () => {
    expect(longest('x\u00a8y')).toBe('▁x▁\u0308y');
    expect(longest('x \u00a8y')).toBe('▁x▁\u0308y');
  });

  it('passes on what it has no rule for, half a surrogate pair as the replacement character', () => {
    expect(longest('ж中😀\0x\ud83d')).toBe('▁ж中😀\0x\ufffd');
    expect(charsmap.normalizeGraphemes('ж中😀x')).toBe('ж中😀x');
  });

  it('is refused when it cannot be one', () => {
    const good = charsmapOf(RULES);
    expect(() => new Charsmap(new Uint8Array(3))).toThrow(RangeError);
    expect(() => new Charsmap(new Uint8Array(8))).toThrow(RangeError);
    expect(() => new Charsmap(good.subarray(0, 100))).toThrow('cut off');
  });

  it('never hangs or reads beyond its end, whatever is in it', () => {
    let seed = 1;
    const next = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31);
    for (let round = 0; round < 200; round++) {
      const bytes = charsmapOf(RULES);
      for (let i = 0; i < 200; i++) bytes[4 + (next() % (bytes.length - 4))] = next() % 256;
      const damaged = new Charsmap(bytes);
      expect(damaged.normalizeLongest('A\u030a ﬁ ① e\u0301 plain')).toBeInstanceOf(Uint8Array);
      expect(typeof damaged.normalizeGraphemes('A\u030a ﬁ ① e\u0301 plain')).toBe('string');
    }
  });
});

/** A double-array trie of these rules, each node in a block of 256 units of its own. */
function charsmapOf(rules: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
  const keys = Object.keys(rules).map((key) => ({ key, bytes: [...Buffer.from(key)] }));
  const pool: number[] = [];
  const units: number[] = Array<number>(256).fill(0);
  build(0, 0, keys);
  const bytes = new Uint8Array(4 + 4 * units.length + pool.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 4 * units.length, true);
  units.forEach((unit, i) => view.setUint32(4 + 4 * i, unit >>> 0, true));
  bytes.set(pool, 4 + 4 * units.length);
  return bytes;

  /** The node whose unit is at `at`, with those that begin with its `depth` bytes. */
  function build(at: number, depth: number, list: readonly { key: string; bytes: number[] }[]): void {
    const block = units.length;
    units.push(...Array<number>(256).fill(0));
    // The offset is taken by xor, and written in units of 256.
    units[at] = (units[at]! & 0xff) | 0x200 | (((at ^ block) & ~0xff) << 2);
    const base = at ^ ((at ^ block) & ~0xff);
    const own = list.find(({ bytes }) => bytes.length === depth);
    if (own !== undefined) {
      units[at] |= 0x100;
      units[base] = 0x80000000 | pool.length;
      pool.push(...Buffer.from(rules[own.key]!), 0);
    }
    const labels = new Set(list.flatMap(({ bytes }) => (bytes.length > depth ? [bytes[depth]!] : [])));
    for (const label of labels) {
      const child = base ^ label;
      units[child] = label;
      build(
        child,
        depth + 1,
        list.filter(({ bytes }) => bytes[depth] === label),
      );
    }
  }
}
