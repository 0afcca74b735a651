import type { Weighing } from './fields.ts';
import { canMean, guessStanding, standardize, weightOfWords } from './fusion.ts';
import { matchName, namePieces, type NameMatch, type NamePiece } from './name-match.ts';
import type { Pool } from './pool.ts';
import type { VectorMatrix } from './vector-matrix.ts';
import { readQuestion } from './question.ts';
import type { Basis, Explanation, IndexedTool, Match, SearchOptions, SearchOutcome } from './tool-index.ts';
import { tenthsMet, ViewWords } from './view-words.ts';

/** A tool that the question names stands before every tool it does not; word scores stay far below. */
const NAME_SCORE: Readonly<Record<NameMatch, number>> = { exact: 20_000, suffix: 10_000 };

/** What a question's vector says of a view's documents, by ordinal. */
interface Meaning {
  /** Products of vectors, as far as they count. */
  readonly similarities: Float32Array;
  /** The same in standard deviations from the mean. */
  readonly standing: Float32Array;
  readonly isEmbedded: (ordinal: number) => boolean;
  readonly basis: Basis;
}

/**
 * Some documents of the pool under the names of one kind of caller: their average field lengths, and the
 * answers to questions about them and nothing else.
 */
export class View {
  /** How many callers hold it. */
  users = 0;
  readonly #words: ViewWords;
  readonly #pool: Pool;
  readonly #weighing: Weighing;
  /** For each document the positions of its tools in the caller's list (almost always one). */
  readonly #positions: readonly (number | readonly number[])[];
  readonly #exposedNames: readonly string[];
  #ordinals: Int32Array | undefined;
  /** For each part of the vectors. */
  readonly #counted: { readonly version: number; readonly embedded: number }[] = [];

  /** `numbers` holds the document of each tool. */
  constructor(pool: Pool, numbers: readonly number[], tools: readonly IndexedTool[], weighing: Weighing) {
    this.#pool = pool;
    this.#weighing = weighing;
    this.#exposedNames = tools.map((tool) => tool.exposedName);
    const order = numbers.map((_, position) => position).sort((a, b) => numbers[a]! - numbers[b]! || a - b);
    const documents: number[] = [];
    const positions: (number | number[])[] = [];
    for (const position of order) {
      const document = numbers[position]!;
      const last = positions.at(-1);
      if (documents.at(-1) !== document || last === undefined) {
        documents.push(document);
        positions.push(position);
      } else if (typeof last === 'number') positions[positions.length - 1] = [last, position];
      else last.push(position);
    }
    this.#words = new ViewWords(pool, Int32Array.from(documents), weighing);
    this.#positions = positions;
  }

  get documents(): Int32Array {
    return this.#words.documents;
  }

  /** Whether it was made of the same documents in the same order, under the same names. */
  isOf(numbers: readonly number[], tools: readonly IndexedTool[], weighing: Weighing): boolean {
    return (
      tools.length === this.#exposedNames.length &&
      weighing === this.#weighing &&
      this.#positions.every((_, ordinal) => {
        const document = this.documents[ordinal];
        return this.#positionsOf(ordinal).every((position) => numbers[position] === document);
      }) &&
      this.#exposedNames.every((name, position) => name === tools[position]!.exposedName)
    );
  }

  /** How many of the documents have each part of their vector. */
  get embedded(): readonly number[] {
    return this.#pool.vectors.map((vectors, part) => {
      const counted = this.#counted[part];
      if (vectors === undefined) return 0;
      // Counted again only when a vector came or the pool compacted.
      if (counted?.version === vectors.version) return counted.embedded;
      let embedded = 0;
      for (const document of this.documents) if (vectors.has(document)) embedded++;
      this.#counted[part] = { version: vectors.version, embedded };
      return embedded;
    });
  }

  unembedded(part: number): readonly number[] {
    const vectors = this.#pool.vectors[part];
    const positions: number[] = [];
    this.documents.forEach((document, ordinal) => {
      if (vectors?.has(document) !== true) positions.push(this.#positionsOf(ordinal)[0]!);
    });
    return positions;
  }

  setVector(position: number, vector: Float32Array, part: number): void {
    const document = this.documents[this.#ordinalsByPosition()[position] ?? -1];
    if (document === undefined) throw new RangeError(`The view has no tool at position ${position}`);
    this.#pool.setVector(document, vector, part);
  }

  /** Takes over new document numbers after compaction, which keeps their order. */
  renumber(renumbered: Int32Array): void {
    this.#pool.scratch.drop(this);
    this.#words.documents = this.documents.map((document) => renumbered[document]!);
  }

  search(question: string, options: SearchOptions): SearchOutcome {
    const { matches, coverage, basis } = this.#rank(question, options);
    return { matches, coverage, basis };
  }

  #rank(question: string, options: SearchOptions): SearchOutcome & { readonly wordsWeight: number } {
    const { scratch } = this.#pool;
    scratch.take(this, this.documents, this.#pool.capacity);
    try {
      const read = readQuestion(question, this.#words, this.#weighing.constants);
      const named = this.#namedTools(question);
      const coverage = this.#words.coverage(read);
      const meaning = this.#meaning(options.vector);
      if (meaning === undefined) {
        this.#words.addTerms(read.terms, options.limit, named);
        return { matches: this.#best(options.limit, named), coverage, basis: 'words', wordsWeight: 1 };
      }
      // A tool with few words may still be among the best, so every score is needed.
      this.#words.addTerms(read.terms, Number.POSITIVE_INFINITY, named);
      const { basis } = meaning;
      if (basis === 'part')
        guessStanding(meaning.standing, (ordinal) => this.#scoreByWords(ordinal), meaning.isEmbedded);
      const wordsWeight = weightOfWords(this.#bestByWords(), this.#weighing.constants);
      const matches = this.#bestOfBoth(options.limit, named, meaning.standing, wordsWeight);
      return { matches, coverage, basis, wordsWeight };
    } finally {
      scratch.clear();
    }
  }

  explain(question: string, options: SearchOptions): Explanation {
    const { matches, coverage, basis, wordsWeight } = this.#rank(question, options);
    const { scratch } = this.#pool;
    const { constants } = this.#weighing;
    scratch.take(this, this.documents, this.#pool.capacity);
    const { terms, words, ignored } = readQuestion(question, this.#words, constants);
    const named = this.#namedTools(question);
    const ordinals = this.#ordinalsByPosition();
    const meaning = this.#meaning(options.vector);
    const explained = matches.map((match) => {
      const ordinal = ordinals[match.position]!;
      let tenths = 0;
      const met = terms.flatMap((term) => {
        const found = this.#words.explain(term, this.documents[ordinal]!);
        if (found === undefined) return [];
        tenths += tenthsMet(term);
        return [found];
      });
      const total = met.reduce((sum, { score }) => sum + score, 0);
      const metFactor = this.#weighing.metFactor(tenths);
      const byName = named.get(ordinal) ?? 0;
      const byWords = wordsWeight * metFactor * total;
      return {
        ...match,
        named: byName,
        words: byWords,
        meaning: meaning === undefined ? 0 : match.score - byName - byWords,
        ...(meaning?.isEmbedded(ordinal) === true ? { similarity: meaning.similarities[ordinal]! } : {}),
        metFactor,
        terms: met.map((term) => ({ ...term, share: term.score / total })).sort((a, b) => b.score - a.score),
      };
    });
    return { matches: explained, coverage, basis, words, ignored };
  }

  // ——— Tools the question names ———

  /** Ordinals of the tools that the question names, with what that is worth. */
  #namedTools(question: string): ReadonlyMap<number, number> {
    const { postings, scratch, vocabulary } = this.#pool;
    const named = new Map<number, number>();
    namePieces(question).forEach((piece, place) => {
      const term = vocabulary.find(piece.lastTerm);
      if (term === undefined) return;
      postings.each(term, (document, counts) => {
        const ordinal = scratch.ordinals[document]! - 1;
        if (ordinal < 0 || (counts & 15) === 0) return;
        const match = this.#nameMatch(piece, ordinal, document);
        // Tools named earlier in the question come first.
        if (match !== undefined)
          named.set(ordinal, Math.max(named.get(ordinal) ?? 0, NAME_SCORE[match] - 400 * place));
      });
    });
    return named;
  }

  #nameMatch(piece: NamePiece, ordinal: number, document: number): NameMatch | undefined {
    const name = this.#pool.names[document]!;
    const upstream = this.#pool.upstreams[document]!;
    for (const position of this.#positionsOf(ordinal)) {
      const match = matchName(piece, { name, upstream, exposedName: this.#exposedNames[position]! });
      if (match !== undefined) return match;
    }
    return undefined;
  }

  /** Made when it is first needed: most views are embedded already and never explained. */
  #ordinalsByPosition(): Int32Array {
    if (this.#ordinals !== undefined) return this.#ordinals;
    const ordinals = new Int32Array(this.#exposedNames.length);
    for (let ordinal = 0; ordinal < this.#positions.length; ordinal++)
      for (const position of this.#positionsOf(ordinal)) ordinals[position] = ordinal;
    return (this.#ordinals = ordinals);
  }

  #positionsOf(ordinal: number): readonly number[] {
    const positions = this.#positions[ordinal]!;
    return typeof positions === 'number' ? [positions] : positions;
  }

  // ——— Meaning ———

  /**
   * What the question's vector says of each document; undefined when there is none, when it is like nothing, or when
   * too few documents have one. Documents without a vector stand at the average, until more is known of them.
   */
  #meaning(question: Float32Array | undefined): Meaning | undefined {
    const [first] = this.#pool.vectors;
    const { documents, embedded } = this;
    if (question === undefined || first === undefined || !canMean({ all: documents.length, embedded }))
      return undefined;
    const parts = this.#comparable(question);
    const isComplete = embedded[0] === documents.length;
    const rows = isComplete ? documents : documents.filter((document) => first.has(document));
    const found = new Float32Array(rows.length);
    if (!addProducts(parts, rows, found)) return undefined;
    const standing = found.slice();
    standardize(standing);
    const isWhole = parts.reduce((sum, { asked }) => sum + asked.length, 0) === question.length;
    if (isComplete) {
      const basis = isWhole ? 'meaning' : 'first';
      return { similarities: found, standing, isEmbedded: () => true, basis };
    }
    const spread = (values: Float32Array): Float32Array => {
      let next = 0;
      return Float32Array.from(documents, (document) => (first.has(document) ? values[next++]! : 0));
    };
    return {
      similarities: spread(found),
      standing: spread(standing),
      isEmbedded: (ordinal) => first.has(documents[ordinal]!),
      basis: 'part',
    };
  }

  /**
   * The question's vector in the parts that count: the first, and each further one that all of the documents have.
   * A part that some lack would set them back, and one that nobody has is one whose vectors are still to come.
   */
  #comparable(question: Float32Array): readonly Part[] {
    const { embedded, documents } = this;
    const parts: Part[] = [];
    let from = 0;
    for (const [part, matrix] of this.#pool.vectors.entries()) {
      if (matrix === undefined) break;
      const asked = question.subarray(from, from + matrix.dimensions);
      from += matrix.dimensions;
      if (from > question.length)
        throw new RangeError(`A vector of at least ${from} numbers was expected, not of ${question.length}`);
      if (part > 0 && embedded[part]! < documents.length) break;
      parts.push({ matrix, asked });
    }
    return parts;
  }

  // ——— The best few ———

  /** From what has been added up in the scratch. */
  #scoreByWords(ordinal: number): number {
    const { scores, met } = this.#pool.scratch;
    const sum = scores[ordinal]!;
    return sum === 0 ? 0 : sum * this.#weighing.metFactor(met[ordinal]!);
  }

  #bestByWords(): number {
    const { touched, touchedCount } = this.#pool.scratch;
    let best = 0;
    for (let i = 0; i < touchedCount; i++) best = Math.max(best, this.#scoreByWords(touched[i]!));
    return best;
  }

  #bestOfBoth(
    limit: number,
    named: ReadonlyMap<number, number>,
    standing: Float32Array,
    wordsWeight: number,
  ): readonly Match[] {
    const best: Match[] = [];
    for (let ordinal = 0; ordinal < standing.length; ordinal++) {
      let score = standing[ordinal]! + wordsWeight * this.#scoreByWords(ordinal);
      if (named.size > 0) score += named.get(ordinal) ?? 0;
      if (best.length >= limit && score < best[best.length - 1]!.score) continue;
      for (const position of this.#positionsOf(ordinal)) this.#insert(best, { position, score }, limit);
    }
    return best;
  }

  #best(limit: number, named: ReadonlyMap<number, number>): readonly Match[] {
    const { touched, touchedCount } = this.#pool.scratch;
    const best: Match[] = [];
    for (let i = 0; i < touchedCount; i++) {
      const ordinal = touched[i]!;
      let score = this.#scoreByWords(ordinal);
      if (named.size > 0) score += named.get(ordinal) ?? 0;
      if (best.length >= limit && score < best[best.length - 1]!.score) continue;
      for (const position of this.#positionsOf(ordinal)) this.#insert(best, { position, score }, limit);
    }
    return best;
  }

  #insert(best: Match[], match: Match, limit: number): void {
    let at = best.length;
    while (at > 0 && this.#comesBefore(match, best[at - 1]!)) at--;
    if (at >= limit) return;
    best.splice(at, 0, match);
    if (best.length > limit) best.pop();
  }

  #comesBefore(a: Match, b: Match): boolean {
    if (a.score !== b.score) return a.score > b.score;
    const [nameA, nameB] = [this.#exposedNames[a.position]!, this.#exposedNames[b.position]!];
    return nameA === nameB ? a.position < b.position : nameA < nameB;
  }
}

/** One part of the vectors, and what the question says of it. */
interface Part {
  readonly matrix: VectorMatrix;
  readonly asked: Float32Array;
}

/** The sum of the parts' products; false when the question is like nothing in all of them. */
function addProducts(parts: readonly Part[], rows: Int32Array, out: Float32Array): boolean {
  const known = parts.filter(({ asked }) => asked.some((number) => number !== 0));
  const more = new Float32Array(known.length > 1 ? rows.length : 0);
  known.forEach(({ matrix, asked }, i) => {
    matrix.similarities(asked, rows, i === 0 ? out : more);
    if (i > 0) for (let row = 0; row < rows.length; row++) out[row]! += more[row]!;
  });
  return known.length > 0;
}
