import { childOf } from '../tokenizer/byte-trie.ts';
import type { ByteTrie } from '../tokenizer/byte-trie.ts';
import { codePoints } from './vocabulary.ts';

/** WordPiece: of every word the longest piece it begins with, then the longest that goes on, until its end. */
export class WordPiece {
  readonly #trie: ByteTrie;
  readonly #maxWordCharacters: number;
  /** Where pieces inside a word begin: behind their prefix. 0 when no piece has it. */
  readonly #inside: number;
  readonly #hasInside: boolean;

  constructor(trie: ByteTrie, prefix: string, maxWordCharacters: number) {
    this.#trie = trie;
    this.#maxWordCharacters = maxWordCharacters;
    const inside = nodeAt(trie, Buffer.from(prefix));
    this.#hasInside = prefix === '' || inside !== 0;
    this.#inside = inside;
  }

  /** The ids of a word's pieces; undefined when it cannot be cut into any, or is too long. */
  cut(word: string): number[] | undefined {
    if (word.length > this.#maxWordCharacters && codePoints(word) > this.#maxWordCharacters) return undefined;
    const bytes = Buffer.from(word);
    const ids: number[] = [];
    for (let start = 0; start < bytes.length;) {
      if (start > 0 && !this.#hasInside) return undefined;
      let node = start === 0 ? 0 : this.#inside;
      let end = 0;
      let id = -1;
      for (let at = start; at < bytes.length; at++) {
        node = childOf(this.#trie, node, bytes[at] ?? 0);
        if (node === 0) break;
        const piece = this.#trie.pieceAt[node] ?? -1;
        if (piece < 0) continue;
        id = piece;
        end = at + 1;
      }
      if (id < 0) return undefined;
      ids.push(id);
      start = end;
    }
    return ids;
  }
}

/** The node `bytes` lead to from the root; 0 when they lead nowhere. */
export function nodeAt(trie: ByteTrie, bytes: Uint8Array): number {
  let node = 0;
  for (const byte of bytes) {
    node = childOf(trie, node, byte);
    if (node === 0) return 0;
  }
  return node;
}
