import { mkdtempSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headerOf, writeSafetensors } from '../../test/support/packed-model.ts';
import { ProxyError } from '../base/errors.ts';
import { SafetensorsFile } from './safetensors.ts';

const folder = mkdtempSync(join(tmpdir(), 'safetensors-'));
let files = 0;

function fileOf(content: Uint8Array): string {
  const path = join(folder, `${++files}.safetensors`);
  writeFileSync(path, content);
  return path;
}

/** What is said when a file of this header and so many bytes of data is opened. */
function complaint(header: unknown, dataBytes = 0): string {
  const json = typeof header === 'string' ? header : JSON.stringify(header);
  const path = fileOf(Buffer.concat([headerOf(json), Buffer.alloc(dataBytes)]));
  return complaintAbout(path);
}

function complaintAbout(path: string): string {
  try {
    new SafetensorsFile(path).close();
  } catch (error) {
    expect(error).toBeInstanceOf(ProxyError);
    expect((error as ProxyError).code).toBe('model_invalid');
    expect((error as ProxyError).message).toContain(path);
    return (error as ProxyError).message.split('cannot be used: ')[1] ?? '';
  }
  return 'opened';
}

const tensor = (begin: number, end: number, shape: unknown = [end - begin], dtype: unknown = 'U8') => ({
  dtype,
  shape,
  data_offsets: [begin, end],
});

describe('a safetensors file', () => {
  it('gives its tensors, whole and in part', () => {
    const path = join(folder, 'good.safetensors');
    writeSafetensors(
      path,
      {
        a: ['F32', [2, 2], Float32Array.of(1, 2, 3, 4)],
        b: ['I8', [3], Int8Array.of(-1, 0, 1)],
        none: ['U8', [0], new Uint8Array()],
      },
      { note: 'ė' },
    );
    const file = new SafetensorsFile(path);
    expect(file.metadata.get('note')).toBe('ė');
    const a = file.tensor('a', 'F32', [2, undefined]);
    expect([...new Float32Array(file.read(a).buffer)]).toEqual([1, 2, 3, 4]);
    const row = new Float32Array(2);
    file.readInto(new Uint8Array(row.buffer), a, 8);
    expect([...row]).toEqual([3, 4]);
    expect([...new Int8Array(file.read(file.tensor('b', 'I8', [3])).buffer)]).toEqual([-1, 0, 1]);
    expect(file.read(file.tensor('none', 'U8', [0]))).toHaveLength(0);
    expect(() => file.readInto(new Uint8Array(8), a, 12)).toThrow(RangeError);
    expect(() => file.tensor('c', 'U8', [1])).toThrow('it has no tensor "c" (U8 [1])');
    expect(() => file.tensor('a', 'F16', [2, 2])).toThrow('its tensor "a" is F32 [2, 2], not F16 [2, 2]');
    expect(() => file.tensor('a', 'F32', [4])).toThrow('not F32 [4]');
    file.close();
    file.close();
    expect(() => file.read(a)).toThrow('is closed');
  });

  it('says that a file is not there', () => {
    const path = join(folder, 'missing.safetensors');
    expect(() => new SafetensorsFile(path)).toThrow(
      expect.objectContaining({ code: 'model_missing' }) as Error,
    );
    expect(() => new SafetensorsFile(path)).toThrow(path);
  });

  it('says when rows that were there are gone', () => {
    const path = join(folder, 'shrunk.safetensors');
    writeSafetensors(path, { a: ['U8', [100], new Uint8Array(100)] });
    const file = new SafetensorsFile(path);
    truncateSync(path, 120);
    expect(() => file.read(file.tensors.get('a')!)).toThrow('it ends after 120 bytes');
    file.close();
  });

  it.each<[string, unknown, number, string]>([
    ['a header that is no JSON', '{"a":', 0, 'its header is not JSON'],
    ['a list as header', '[1, 2, 3]', 0, 'its header is not a JSON object'],
    ['a header of a word', 'tensors', 0, 'its header is not JSON'],
    ['numbers in the metadata', { __metadata__: { a: 1 } }, 0, 'its metadata "a" is not a text'],
    ['metadata that is a list', { __metadata__: [] }, 0, 'its metadata is not a JSON object'],
    ['a tensor that is a number', { a: 7 }, 0, 'its tensor "a" is not described by a JSON object'],
    [
      'a type nobody knows',
      { a: tensor(0, 4, [4], 'F8') },
      4,
      'the type of its tensor "a" is not known: "F8"',
    ],
    ['a type of every object', { a: tensor(0, 4, [4], 'constructor') }, 4, 'is not known'],
    ['a shape with a fraction', { a: tensor(0, 4, [1.5]) }, 4, 'the shape of its tensor "a"'],
    ['a negative shape', { a: tensor(0, 4, [-4]) }, 4, 'the shape of its tensor "a"'],
    ['a shape of a thousand dimensions', { a: tensor(0, 1, Array(1_000).fill(1)) }, 1, 'at most 8 lengths'],
    ['a product that overflows', { a: tensor(0, 4, [2 ** 40, 2 ** 40]) }, 4, 'its type and shape make'],
    [
      'a shape that says more than there is',
      { a: tensor(0, 4, [5]) },
      4,
      'takes 4 bytes, but its type and shape make 5',
    ],
    ['an end beyond the file', { a: tensor(0, 5) }, 4, 'there are 4 bytes of data'],
    ['an end before its beginning', { a: tensor(3, 1, [0]) }, 4, 'is said to lie at [3,1]'],
    [
      'offsets that are texts',
      { a: { dtype: 'U8', shape: [1], data_offsets: ['0', '1'] } },
      1,
      'is said to lie at',
    ],
    ['three offsets', { a: { dtype: 'U8', shape: [1], data_offsets: [0, 1, 1] } }, 1, 'is said to lie at'],
    [
      'tensors that overlap',
      { a: tensor(0, 4), b: tensor(2, 6) },
      6,
      '"b" does not begin where the one before it ends',
    ],
    ['a gap between tensors', { a: tensor(0, 2), b: tensor(4, 6) }, 6, '"b" does not begin where'],
    ['data behind the last tensor', { a: tensor(0, 2) }, 6, 'its tensors take 2 bytes, but there are 6'],
    [
      'more tensors than any model has',
      Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`t${i}`, tensor(0, 0)])),
      0,
      '10000 is the limit',
    ],
  ])('is refused for %s', (_, header, dataBytes, expected) => {
    expect(complaint(header, dataBytes)).toContain(expected);
  });

  it('is refused when it is shorter than any header, or its header claims more than there is or may be', () => {
    expect(complaintAbout(fileOf(new Uint8Array(0)))).toContain('it has 0 bytes');
    expect(complaintAbout(fileOf(new Uint8Array(9)))).toContain('it has 9 bytes');
    const long = Buffer.alloc(20);
    long.writeBigUInt64LE(1_000n);
    expect(complaintAbout(fileOf(long))).toContain('claims 1000 bytes, but the file ends after 20');
    long.writeBigUInt64LE(2n ** 63n);
    expect(complaintAbout(fileOf(long))).toContain('8388608 is the limit');
  });

  it('is refused, never misread, wherever it is cut off', () => {
    const path = join(folder, 'whole.safetensors');
    writeSafetensors(path, { a: ['F32', [4], Float32Array.of(1, 2, 3, 4)] }, { note: 'x' });
    const file = new SafetensorsFile(path);
    const { offset, byteLength } = file.tensors.get('a')!;
    file.close();
    for (let size = 0; size < offset + byteLength; size++) {
      const cut = join(folder, 'cut.safetensors');
      writeSafetensors(cut, { a: ['F32', [4], Float32Array.of(1, 2, 3, 4)] }, { note: 'x' });
      truncateSync(cut, size);
      expect(complaintAbout(cut)).not.toBe('opened');
    }
  });

  it('gives an error of ours for any header at all', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat({ max: 40 }), (header, dataBytes) => {
        complaint(JSON.stringify(header), dataBytes);
      }),
      { numRuns: 300 },
    );
  });
});
