import { normalizerOf } from '../tokenizer-json/normalize.ts';
import { preTokenize } from '../tokenizer-json/pre-tokenize.ts';
import { WordPiece } from '../tokenizer-json/word-piece.ts';
import { buildByteTrie } from '../tokenizer/byte-trie.ts';

/** What BERT's uncased models do with a text before they cut it: clean, lower-case, without accents. */
const normalize = normalizerOf(
  [{ kind: 'bert', cleanText: true, spaceChinese: true, stripAccents: true, lowercase: true }],
  [],
);

/** Longer words are unknown as a whole; in characters, as in BERT. */
const LONGEST_WORD = 100;

/**
 * Characters of a text that are read, for each piece that is kept. English has some 5 a piece; the bound keeps a text
 * of megabytes from holding up everybody.
 */
const CHARACTERS_A_PIECE = 32;

/**
 * Cuts texts into BERT's WordPiece pieces, and names each by its row. What a tokenizer's library takes for special
 * wherever it stands, such as `[SEP]`, is text here: no tool's description can end a sequence.
 */
export class WordRows {
  readonly #pieces: WordPiece;
  readonly #unknownRow: number;

  /** Of pieces one after another in `bytes`; those inside a word begin with `##`. Throws when they do not agree. */
  constructor(bytes: Uint8Array, lengths: Uint8Array, unknownRow: number) {
    this.#pieces = new WordPiece(buildByteTrie(bytes, lengths), '##', LONGEST_WORD);
    this.#unknownRow = unknownRow;
  }

  /** The rows of a text, at most `limit`. */
  rowsOf(text: string, limit: number): readonly number[] {
    // Half a surrogate pair, which the end may leave, is no character.
    const read = text.slice(0, limit * CHARACTERS_A_PIECE).replaceAll(/\p{Cs}/gu, '');
    const rows: number[] = [];
    for (const word of preTokenize([{ kind: 'bert' }], normalize(read), true)) {
      if (rows.length >= limit) break;
      rows.push(...(this.#pieces.cut(word) ?? [this.#unknownRow]));
    }
    return rows.slice(0, limit);
  }
}
