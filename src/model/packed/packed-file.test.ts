import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writePackedModel } from '../../../test/support/packed-model.ts';
import { SafetensorsFile } from '../safetensors.ts';
import { PackedFile } from './packed-file.ts';

const path = join(mkdtempSync(join(tmpdir(), 'packed-file-')), 'encoder.safetensors');
writePackedModel(path);

describe('rows of a packed file', () => {
  it('are read as they are written: three bits a number, a fourth for some rows, a scale', () => {
    const file = new PackedFile(path);
    const raw = new SafetensorsFile(path);
    const bytes = (name: string): Uint8Array => raw.read(raw.tensors.get(name)!);
    const levels = new Float32Array(bytes('levels').buffer);
    const fineLevels = new Float32Array(bytes('fine_levels').buffer);
    const fineRows = [...new Uint32Array(bytes('base.fine_rows').buffer)];
    const codes = bytes('base.rows');
    const fine = bytes('base.fine');
    const scales = new Uint16Array(bytes('base.row_scale').buffer);
    const bit = (of: Uint8Array, at: number): number => (of[at >> 3]! >> (at & 7)) & 1;
    const rows = raw.tensors.get('base.rows')!.shape[0]!;
    expect(fineRows.length).toBeGreaterThan(5);
    expect(fineRows.length).toBeLessThan(rows - 5);

    const found = new Float32Array(512);
    for (let row = 0; row < rows; row++) {
      file.readRow(0, row, found);
      // The scales of these files are 1/16 and as many 16,384ths more as the last ten bits say.
      const scale = (1 + (scales[row]! & 1_023) / 1_024) / 16;
      const place = fineRows.indexOf(row);
      const expected = Float32Array.from({ length: 512 }, (_, i) => {
        const at = row * 1_536 + 3 * i;
        const code = bit(codes, at) + 2 * bit(codes, at + 1) + 4 * bit(codes, at + 2);
        const level = place < 0 ? levels[code]! : fineLevels[2 * code + bit(fine, place * 512 + i)]!;
        return level * scale;
      });
      expect(found).toEqual(expected);
    }
    raw.close();
    file.close();
  });
});
