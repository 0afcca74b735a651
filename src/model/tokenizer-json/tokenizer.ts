import { Charsmap } from '../tokenizer/charsmap.ts';
import { UNKNOWN_PIECE, UnigramSegmenter } from '../tokenizer/unigram.ts';
import { addedTokenFinder } from './added-tokens.ts';
import { Fault } from './json-fields.ts';
import { normalizerOf } from './normalize.ts';
import { preTokenize } from './pre-tokenize.ts';
import type { ModelSpec, TokenizerSpec } from './read-spec.ts';
import type { Vocabulary } from './vocabulary.ts';
import { nodeAt, WordPiece } from './word-piece.ts';

/** Cuts texts into the token ids a `tokenizer.json` describes, as Hugging Face's `tokenizers` does. */
export interface JsonTokenizer {
  /** The id of what the vocabulary does not have; undefined when there is none, and such text is then left out. */
  readonly unknownId: number | undefined;
  /** The ids of a whole text, without the tokens a model may want at both ends. */
  encode(text: string): number[];
}

/** Throws a `Fault` when spec and vocabulary do not fit each other. */
export function openJsonTokenizer(spec: TokenizerSpec, vocabulary: Vocabulary): JsonTokenizer {
  const normalize = normalizerOf(spec.normalizer, charsmapsOf(spec, vocabulary.charsmaps));
  // A token that the vocabulary has too keeps its number there, whatever the file says.
  const added = spec.addedTokens.map((token) => ({
    ...token,
    id: pieceOf(vocabulary.trie, token.content) ?? token.id,
  }));
  const raw = added.filter((token) => !token.isNormalized);
  const normalized = added.filter((token) => token.isNormalized);
  const findRaw = addedTokenFinder(raw, ({ content }) => content);
  const findNormalized = addedTokenFinder(normalized, ({ content }) => normalize(content));
  const unknownId = unknownIdOf(spec, vocabulary);
  const cut = cutterOf(spec.model, vocabulary, unknownId);
  const asksForFirst = spec.preTokenizer.some(
    (step) => step.kind === 'metaspace' && step.prepend === 'first',
  );
  // For the library a text whose first character is normalised away does not start at the beginning.
  const losesItsStart = (text: string): boolean =>
    asksForFirst && normalize(String.fromCodePoint(text.codePointAt(0) ?? 0)) === '';
  return {
    unknownId,
    encode(text) {
      const ids: number[] = [];
      for (const outer of findRaw(wellFormed(text), true)) {
        if ('id' in outer) {
          ids.push(outer.id);
          continue;
        }
        const isFirst = outer.isFirst && !losesItsStart(outer.text);
        for (const stretch of findNormalized(normalize(outer.text), isFirst)) {
          if ('id' in stretch) ids.push(stretch.id);
          else
            for (const part of preTokenize(spec.preTokenizer, stretch.text, stretch.isFirst)) cut(part, ids);
        }
      }
      return ids;
    },
  };
}

/** A half of a surrogate pair has no UTF-8. */
function wellFormed(text: string): string {
  return text.replaceAll(/\p{Cs}/gu, '\ufffd');
}

function charsmapsOf(spec: TokenizerSpec, charsmaps: readonly Uint8Array[]): Charsmap[] {
  const wanted = spec.normalizer.filter(({ kind }) => kind === 'precompiled').length;
  if (charsmaps.length !== wanted)
    throw new Fault(`it has ${charsmaps.length} charsmaps for ${wanted} steps`);
  try {
    return charsmaps.map((bytes) => new Charsmap(bytes));
  } catch (cause) {
    throw new Fault(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function unknownIdOf(
  { model, addedTokens }: TokenizerSpec,
  { trie, scores }: Vocabulary,
): number | undefined {
  if (model.kind === 'unigram') {
    if (model.unknownId !== undefined && model.unknownId >= scores.length) {
      throw new Fault(`its unk_id is ${model.unknownId}, but there are ${scores.length} pieces`);
    }
    return model.unknownId;
  }
  const added = addedTokens.find(({ content }) => content === model.unknownToken);
  return pieceOf(trie, model.unknownToken) ?? added?.id;
}

function pieceOf(trie: Vocabulary['trie'], piece: string): number | undefined {
  const node = nodeAt(trie, Buffer.from(piece));
  const id = node === 0 ? -1 : (trie.pieceAt[node] ?? -1);
  return id < 0 ? undefined : id;
}

/** Adds the ids of one part of a text to a list. */
function cutterOf(
  model: ModelSpec,
  { trie, scores }: Vocabulary,
  unknownId: number | undefined,
): (part: string, ids: number[]) => void {
  if (model.kind === 'wordpiece') {
    const pieces = new WordPiece(trie, model.prefix, model.maxWordCharacters);
    return (part, ids) => {
      const found = pieces.cut(part);
      if (found !== undefined) ids.push(...found);
      else if (unknownId !== undefined) ids.push(unknownId);
    };
  }
  const segmenter = new UnigramSegmenter({ trie, scores }, { precision: 'double' });
  const byteIds = model.byteFallback ? byteIdsOf(trie) : undefined;
  return (part, ids) => {
    const bytes = Buffer.from(part);
    const { pieces, ends } = segmenter.segment(bytes);
    let start = 0;
    for (const [i, piece] of pieces.entries()) {
      const end = ends[i] ?? start;
      if (piece !== UNKNOWN_PIECE) ids.push(piece);
      else {
        const fallback = byteIds === undefined ? undefined : bytesAs(byteIds, bytes.subarray(start, end));
        if (fallback !== undefined) ids.push(...fallback);
        else if (unknownId !== undefined) ids.push(unknownId);
      }
      start = end;
    }
  };
}

/** The ids of the pieces `<0x00>` to `<0xFF>`. */
function byteIdsOf(trie: Vocabulary['trie']): readonly (number | undefined)[] {
  return Array.from({ length: 256 }, (_, byte) =>
    pieceOf(trie, `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`),
  );
}

/** Each byte's id; undefined unless all have one. */
function bytesAs(ids: readonly (number | undefined)[], bytes: Uint8Array): number[] | undefined {
  const found: number[] = [];
  for (const byte of bytes) {
    const id = ids[byte];
    if (id === undefined) return undefined;
    found.push(id);
  }
  return found;
}
