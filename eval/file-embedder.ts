import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Embedder, TextRole } from '../src/search/embedder.ts';

/**
 * Vectors made elsewhere, of a model that this program does not run: `texts.jsonl` holds one `["document" or
 * "question", text]` a line, `vectors.f32` their vectors in the same order, little-endian floats. Asking for another
 * text is an error that shows it.
 */
export function openFileEmbedder(folder: string): Embedder {
  const lines = readFileSync(join(folder, 'texts.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const rows = new Map(lines.map((line, row) => [keyOf(...(JSON.parse(line) as [TextRole, string])), row]));
  const bytes = readFileSync(join(folder, 'vectors.f32'));
  const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const dimensions = numbers.length / lines.length;
  if (!Number.isInteger(dimensions))
    throw new Error(`${folder}: ${numbers.length} numbers for ${lines.length} texts`);
  return {
    id: folder,
    dimensions,
    // A missing text rejects, as the port says.
    embed: async (texts, role) =>
      texts.map((text) => {
        const row = rows.get(keyOf(role, text));
        if (row === undefined)
          throw new Error(`${folder} has no vector of the ${role} ${JSON.stringify(text)}`);
        return numbers.slice(row * dimensions, (row + 1) * dimensions);
      }),
    close: () => Promise.resolve(),
  };
}

function keyOf(role: TextRole, text: string): string {
  return `${role} ${text}`;
}
