import { FIELDS } from './fields.ts';
import type { LatinLanguage } from './function-words.ts';
import { LATIN_LANGUAGES } from './language.ts';
import { matchName, namePieces, type NameMatch } from './name-match.ts';
import type { Pool } from './pool.ts';
import { readQuestion, type Alternative, type Concept, type Lexicon } from './question.ts';
import type { IndexedTool, Match, SearchOptions, SearchOutcome, ToolIndex } from './tool-index.ts';

const FIELD_COUNT = FIELDS.length;
/** A tool that the question names stands before every tool it does not; word scores stay far below. */
const NAME_SCORE: Readonly<Record<NameMatch, number>> = { exact: 20_000, suffix: 10_000 };

/** One caller's documents in the pool: their numbers, their average field lengths, and the answers to questions. */
export class View implements ToolIndex, Lexicon {
  readonly languages: readonly LatinLanguage[];
  readonly #pool: Pool;
  /** Ascending, each once. */
  #documents: Int32Array;
  /** For each document the positions of its tools in the caller's list (almost always one). */
  readonly #positions: readonly (number | readonly number[])[];
  readonly #exposedNames: readonly string[];
  /** Per field: what a count is divided by is `base + slope · length`. */
  readonly #base = new Float64Array(FIELD_COUNT);
  readonly #slope = new Float64Array(FIELD_COUNT);
  /** The references that were taken, one for each tool. */
  #acquired: Int32Array;
  #isOpen = true;

  constructor(pool: Pool, acquired: readonly number[], tools: readonly IndexedTool[]) {
    this.#pool = pool;
    this.#acquired = Int32Array.from(acquired);
    this.#exposedNames = tools.map((tool) => tool.exposedName);
    const order = acquired.map((_, position) => position).sort((a, b) => acquired[a]! - acquired[b]! || a - b);
    const documents: number[] = [];
    const positions: (number | number[])[] = [];
    for (const position of order) {
      const document = acquired[position]!;
      const last = positions.at(-1);
      if (documents.at(-1) !== document || last === undefined) {
        documents.push(document);
        positions.push(position);
      } else if (typeof last === 'number') positions[positions.length - 1] = [last, position];
      else last.push(position);
    }
    this.#documents = Int32Array.from(documents);
    this.#positions = positions;
    this.#measureLengths();
    this.languages = this.#languagesInUse();
  }

  #measureLengths(): void {
    const totals = new Float64Array(FIELD_COUNT);
    for (const document of this.#documents) {
      for (let field = 0; field < FIELD_COUNT; field++) totals[field]! += this.#pool.lengths[document * FIELD_COUNT + field]!;
    }
    FIELDS.forEach((name, field) => {
      const share = this.#pool.constants.lengthShare[name];
      const average = totals[field]! / this.#documents.length || 1;
      this.#base[field] = 1 - share;
      this.#slope[field] = share / average;
    });
  }

  #languagesInUse(): readonly LatinLanguage[] {
    const isUsed = new Uint8Array(LATIN_LANGUAGES.length);
    for (const document of this.#documents) isUsed[this.#pool.languages[document]!] = 1;
    return LATIN_LANGUAGES.filter((language, i) => isUsed[i] === 1 && language !== 'english');
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#pool.scratch.drop(this);
    this.#pool.closeView(this, this.#acquired);
  }

  renumber(renumbered: Int32Array): void {
    this.#pool.scratch.drop(this);
    // Compaction keeps the order of documents, so both stay ascending.
    this.#documents = this.#documents.map((document) => renumbered[document]!);
    this.#acquired = this.#acquired.map((document) => renumbered[document]!);
  }

  search(question: string, options: SearchOptions): SearchOutcome {
    this.#take();
    const concepts = readQuestion(question, this, this.#pool.constants);
    const coverage = this.#scoreWords(concepts);
    const named = this.#scoreNames(question);
    const matches = this.#best(options.limit, named);
    this.#forget();
    return { matches, coverage };
  }

  #take(): void {
    if (!this.#isOpen) throw new Error('A view was searched after it was closed');
    this.#pool.scratch.take(this, this.#documents, this.#pool.capacity);
  }

  // ——— Lexicon: the words of this view ———

  find(term: string): number | undefined {
    const number = this.#pool.vocabulary.find(term);
    return number !== undefined && this.#occurs(number) ? number : undefined;
  }

  near(word: string, most: number): readonly { readonly number: number; readonly term: string; readonly distance: number }[] {
    return this.#pool.vocabulary
      .near(word, most)
      .map(({ number, distance }) => ({ number, distance, term: this.#pool.vocabulary.term(number), tools: this.#frequency(number) }))
      .filter(({ tools }) => tools > 0)
      .sort((a, b) => a.distance - b.distance || b.tools - a.tools || (a.term < b.term ? -1 : 1));
  }

  #occurs(term: number): boolean {
    const { cells } = this.#pool.postings;
    const { ordinals } = this.#pool.scratch;
    for (let block = this.#pool.postings.head(term); block !== 0; block = cells[block]!) {
      const end = block + 2 + cells[block + 1]! * 2;
      for (let at = block + 2; at < end; at += 2) if (ordinals[cells[at]!]! > 0) return true;
    }
    return false;
  }

  #frequency(term: number): number {
    const { ordinals } = this.#pool.scratch;
    let tools = 0;
    this.#pool.postings.each(term, (document) => {
      if (ordinals[document]! > 0) tools++;
    });
    return tools;
  }

  // ——— BM25F over the words ———

  /** Adds up every concept in the scratch; the answer is the coverage. */
  #scoreWords(concepts: readonly Concept[]): number {
    const unknownMass = 0.7 * this.#idf(0);
    let knownMass = 0;
    let totalMass = 0;
    for (const concept of concepts) {
      const idf = this.#scoreConcept(concept);
      if (concept.known === undefined) continue;
      const mass = concept.known === 1 ? idf : unknownMass;
      totalMass += mass;
      knownMass += mass * concept.known;
    }
    return totalMass === 0 ? 0 : knownMass / totalMass;
  }

  /** The rarity of a term in the view. */
  #idf(tools: number): number {
    return Math.log(1 + (this.#documents.length - tools + 0.5) / (tools + 0.5));
  }

  /** The answer is the highest idf among the concept's own words. */
  #scoreConcept(concept: Concept): number {
    const scratch = this.#pool.scratch;
    let highest = 0;
    let hitCount = 0;
    for (const alternative of concept.alternatives) {
      const tools = this.#collect(alternative);
      const idf = this.#idf(tools);
      if (alternative.kind === 'word') highest = Math.max(highest, idf);
      const factor = idf * alternative.weight * concept.weight;
      for (let i = 0; i < tools; i++) {
        const ordinal = scratch.hits[i]!;
        const value = scratch.hitValues[i]! * factor;
        const before = scratch.best[ordinal]!;
        if (before === 0) scratch.conceptHits[hitCount++] = ordinal;
        if (value > before) {
          scratch.best[ordinal] = value;
          scratch.bestWeight[ordinal] = alternative.weight;
        }
      }
    }
    for (let i = 0; i < hitCount; i++) {
      const ordinal = scratch.conceptHits[i]!;
      if (scratch.scores[ordinal] === 0) scratch.touched[scratch.touchedCount++] = ordinal;
      scratch.scores[ordinal]! += scratch.best[ordinal]!;
      scratch.met[ordinal]! += scratch.bestWeight[ordinal]!;
      scratch.best[ordinal] = 0;
    }
    return highest;
  }

  /** Fills `hits` with the view's documents that have the term, `hitValues` with its saturated weighted count. */
  #collect(alternative: Alternative): number {
    const { lengths, postings, scratch } = this.#pool;
    const { cells } = postings;
    const { ordinals, hits, hitValues } = scratch;
    const { saturation } = this.#pool.constants;
    const weights = this.#pool.weights;
    const base = this.#base;
    const slope = this.#slope;
    let found = 0;
    for (let block = postings.head(alternative.number); block !== 0; block = cells[block]!) {
      const end = block + 2 + cells[block + 1]! * 2;
      for (let at = block + 2; at < end; at += 2) {
        const document = cells[at]!;
        const ordinal = ordinals[document]! - 1;
        if (ordinal < 0) continue;
        let counts = cells[at + 1]!;
        let weighted = 0;
        while (counts !== 0) {
          const field = (31 - Math.clz32(counts & -counts)) >> 2;
          const count = (counts >>> (field << 2)) & 15;
          weighted += (weights[field]! * count) / (base[field]! + slope[field]! * lengths[document * FIELD_COUNT + field]!);
          counts &= ~(15 << (field << 2));
        }
        hits[found] = ordinal;
        hitValues[found++] = (weighted * (saturation + 1)) / (saturation + weighted);
      }
    }
    return found;
  }

  // ——— Tools the question names ———

  #scoreNames(question: string): ReadonlyMap<number, number> {
    const scores = new Map<number, number>();
    namePieces(question).forEach((piece, place) => {
      const term = this.#pool.vocabulary.find(piece.lastTerm);
      if (term === undefined) return;
      this.#pool.postings.each(term, (document, counts) => {
        const ordinal = this.#pool.scratch.ordinals[document]! - 1;
        if (ordinal < 0 || (counts & 15) === 0) return;
        const match = this.#nameMatch(piece, ordinal, document);
        // Tools named earlier in the question come first.
        if (match !== undefined) scores.set(ordinal, Math.max(scores.get(ordinal) ?? 0, NAME_SCORE[match] - 200 * place));
      });
    });
    return scores;
  }

  #nameMatch(piece: Parameters<typeof matchName>[0], ordinal: number, document: number): NameMatch | undefined {
    const name = this.#pool.names[document]!;
    const upstream = this.#pool.upstreams[document]!;
    for (const position of this.#positionsOf(ordinal)) {
      const match = matchName(piece, { name, upstream, exposedName: this.#exposedNames[position]! });
      if (match !== undefined) return match;
    }
    return undefined;
  }

  #positionsOf(ordinal: number): readonly number[] {
    const positions = this.#positions[ordinal]!;
    return typeof positions === 'number' ? [positions] : positions;
  }

  // ——— The best few ———

  #best(limit: number, named: ReadonlyMap<number, number>): readonly Match[] {
    const { scores, met, touched, touchedCount } = this.#pool.scratch;
    const { matchedExponent } = this.#pool.constants;
    const best: Match[] = [];
    const offer = (ordinal: number, score: number): void => {
      if (best.length >= limit && score < best[best.length - 1]!.score) return;
      for (const position of this.#positionsOf(ordinal)) this.#insert(best, { position, score }, limit);
    };
    for (let i = 0; i < touchedCount; i++) {
      const ordinal = touched[i]!;
      if (named.size > 0 && named.has(ordinal)) continue;
      offer(ordinal, scores[ordinal]! * Math.max(1, met[ordinal]!) ** matchedExponent);
    }
    for (const [ordinal, bonus] of named) offer(ordinal, bonus + scores[ordinal]! * Math.max(1, met[ordinal]!) ** matchedExponent);
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

  /** Leaves the scratch as it was found: all zero. */
  #forget(): void {
    const scratch = this.#pool.scratch;
    for (let i = 0; i < scratch.touchedCount; i++) {
      const ordinal = scratch.touched[i]!;
      scratch.scores[ordinal] = 0;
      scratch.met[ordinal] = 0;
    }
    scratch.touchedCount = 0;
  }
}
