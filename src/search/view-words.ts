import { FIELDS, type Weighing } from './fields.ts';
import type { LatinLanguage } from './function-words.ts';
import { LATIN_LANGUAGES } from './language.ts';
import type { Pool } from './pool.ts';
import type { Lexicon, NearTerm, QuestionTerm, ReadQuestion } from './question.ts';
import type { Impacts } from './scratch.ts';
import type { ExplainedTerm } from './tool-index.ts';

const FIELD_COUNT = FIELDS.length;
/** Terms in more documents than this are worth remembering how many of the view's they are in. */
const COMMON = 64;

/** The words of one view and what each is worth there. The scratch must have been taken for `documents`. */
export class ViewWords implements Lexicon {
  readonly languages: readonly LatinLanguage[];
  /** Ascending, each once. */
  documents: Int32Array;
  readonly #pool: Pool;
  readonly #weighing: Weighing;
  /** Per field: what a count is divided by is `base + slope · length`. */
  readonly #base = new Float64Array(FIELD_COUNT);
  readonly #slope = new Float64Array(FIELD_COUNT);

  constructor(pool: Pool, documents: Int32Array, weighing: Weighing) {
    this.#pool = pool;
    this.#weighing = weighing;
    this.documents = documents;
    this.#measureLengths();
    this.languages = this.#languagesInUse();
  }

  #measureLengths(): void {
    const totals = new Float64Array(FIELD_COUNT);
    for (const document of this.documents) {
      for (let field = 0; field < FIELD_COUNT; field++)
        totals[field]! += this.#pool.lengths[document * FIELD_COUNT + field]!;
    }
    FIELDS.forEach((name, field) => {
      const share = this.#weighing.constants.lengthShare[name];
      const average = totals[field]! / this.documents.length || 1;
      this.#base[field] = 1 - share;
      this.#slope[field] = share / average;
    });
  }

  #languagesInUse(): readonly LatinLanguage[] {
    const isUsed = new Uint8Array(LATIN_LANGUAGES.length);
    for (const document of this.documents) isUsed[this.#pool.languages[document]!] = 1;
    return LATIN_LANGUAGES.filter((language, i) => isUsed[i] === 1 && language !== 'english');
  }

  // ——— The words of this view ———

  find(term: string): { readonly number: number; readonly tools: number } | undefined {
    const number = this.#pool.vocabulary.find(term);
    if (number === undefined) return undefined;
    const tools = this.#frequency(number);
    return tools === 0 ? undefined : { number, tools };
  }

  near(word: string, most: number): readonly NearTerm[] {
    const found: NearTerm[] = [];
    for (const { number, distance } of this.#pool.vocabulary.near(word, most)) {
      const tools = this.#frequency(number);
      if (tools > 0) found.push({ number, distance, tools, term: this.#pool.vocabulary.term(number) });
    }
    return found.sort((a, b) => a.distance - b.distance || b.tools - a.tools || (a.term < b.term ? -1 : 1));
  }

  /**
   * How many tools of the view have a term. A common term is counted once while the same view asks, and when
   * it is asked for again, what it gives each tool is kept as well.
   */
  #frequency(term: number): number {
    const { postings, scratch } = this.#pool;
    const known = scratch.frequencies.get(term);
    if (known !== undefined) {
      if (scratch.impacts(term) === undefined) scratch.keepImpacts(term, this.#impactsOf(term, known));
      return known;
    }
    const { cells } = postings;
    const { ordinals } = scratch;
    let tools = 0;
    for (let block = postings.head(term); block !== 0; block = cells[block]!) {
      const end = block + 2 + cells[block + 1]! * 2;
      for (let at = block + 2; at < end; at += 2) if (ordinals[cells[at]!]! > 0) tools++;
    }
    if (postings.count(term) > COMMON) scratch.frequencies.set(term, tools);
    return tools;
  }

  #impactsOf(term: number, tools: number): Impacts {
    const { postings, scratch } = this.#pool;
    const { cells } = postings;
    const impacts = { ordinals: new Int32Array(tools), values: new Float32Array(tools), highest: 0 };
    let i = 0;
    for (let block = postings.head(term); block !== 0; block = cells[block]!) {
      const end = block + 2 + cells[block + 1]! * 2;
      for (let at = block + 2; at < end; at += 2) {
        const ordinal = scratch.ordinals[cells[at]!]! - 1;
        if (ordinal < 0) continue;
        const impact = this.#impact(cells[at]!, cells[at + 1]!);
        impacts.ordinals[i] = ordinal;
        impacts.values[i++] = impact;
        if (impact > impacts.highest) impacts.highest = impact;
      }
    }
    return impacts;
  }

  #fieldPart(document: number, field: number, count: number): number {
    const length = this.#pool.lengths[document * FIELD_COUNT + field]!;
    return (this.#weighing.weights[field]! * count) / (this.#base[field]! + this.#slope[field]! * length);
  }

  /**
   * What a document's counts of a term are worth, before the term's rarity: weighted by field and length,
   * then saturated; below saturation + 1. In single precision, so that kept impacts equal computed ones.
   */
  #impact(document: number, packed: number): number {
    const { lengths } = this.#pool;
    const { weights, constants } = this.#weighing;
    const first = document * FIELD_COUNT;
    let counts = packed;
    let weighted = 0;
    while (counts !== 0) {
      const shift = (31 - Math.clz32(counts & -counts)) & 28;
      const field = shift >> 2;
      const times = (counts >>> shift) & 15;
      weighted +=
        (weights[field]! * times) / (this.#base[field]! + this.#slope[field]! * lengths[first + field]!);
      counts &= ~(15 << shift);
    }
    return Math.fround((weighted * (constants.saturation + 1)) / (constants.saturation + weighted));
  }

  /** The rarity of a term in the view. */
  #idf(tools: number): number {
    return Math.log(1 + (this.documents.length - tools + 0.5) / (tools + 0.5));
  }

  /** Share of the question's idf mass that the view knows; an unknown word weighs 0.7 of the rarest. */
  coverage({ words }: ReadQuestion): number {
    const unknownMass = 0.7 * this.#idf(0);
    let known = 0;
    let total = 0;
    for (const word of words) {
      const mass = word.known === 1 ? this.#idf(word.tools) : unknownMass;
      total += mass;
      known += mass * word.known;
    }
    return total === 0 ? 0 : known / total;
  }

  /**
   * Adds up the terms in the scratch, rarest first. When what is left could not lift a tool that has no score
   * yet among the best `limit`, only tools with a score are looked at: the best few and their scores are the
   * same, and the commonest words, whose lists are longest, cost least.
   */
  addTerms(terms: readonly QuestionTerm[], limit: number, named: ReadonlyMap<number, number>): void {
    const { scratch } = this.#pool;
    const { constants } = this.#weighing;
    const weighed = terms
      .map((term) => {
        const factor = this.#idf(term.rarityTools) * term.weight;
        const highest = scratch.impacts(term.number)?.highest ?? constants.saturation + 1;
        return { term, factor, reach: factor * highest };
      })
      .sort((a, b) => b.factor - a.factor || (a.term.term < b.term.term ? -1 : 1));
    // A named tool must get all of its score.
    for (const ordinal of named.keys()) this.#touch(ordinal);
    const total = weighed.reduce((sum, { reach }) => sum + reach, 0);
    let left = total;
    let metLeft = terms.reduce((sum, term) => sum + tenthsMet(term), 0) / 10;
    let isClosed = false;
    for (const { term, factor, reach } of weighed) {
      if (!isClosed && scratch.touchedCount > limit) {
        // A little more, because the subtractions below round.
        const mostLeft = left * Math.max(1, metLeft) ** constants.matchedExponent * (1 + 1e-9);
        // No score so far exceeds what the terms so far can give.
        isClosed = mostLeft < total - left && mostLeft < this.#scoreAtRank(limit);
      }
      this.#addTerm(term, factor, isClosed);
      left -= reach;
      metLeft -= tenthsMet(term) / 10;
    }
  }

  #touch(ordinal: number): void {
    this.#pool.scratch.add(ordinal, Number.MIN_VALUE, 0);
  }

  /** The `limit`-th best sum so far: no final score of that tool is lower. */
  #scoreAtRank(limit: number): number {
    const { scores, touched, touchedCount } = this.#pool.scratch;
    const best = new Float64Array(limit);
    for (let i = 0; i < touchedCount; i++) {
      const score = scores[touched[i]!]!;
      if (score <= best[0]!) continue;
      let at = 0;
      while (at + 1 < limit && best[at + 1]! < score) {
        best[at] = best[at + 1]!;
        at++;
      }
      best[at] = score;
    }
    return best[0]!;
  }

  #addTerm(term: QuestionTerm, factor: number, isClosed: boolean): void {
    const { postings, scratch } = this.#pool;
    const impacts = scratch.impacts(term.number);
    const met = tenthsMet(term);
    if (impacts !== undefined) {
      scratch.addAll(impacts, factor, met, isClosed);
      return;
    }
    const { cells } = postings;
    for (let block = postings.head(term.number); block !== 0; block = cells[block]!) {
      const end = block + 2 + cells[block + 1]! * 2;
      for (let at = block + 2; at < end; at += 2) {
        const ordinal = scratch.ordinals[cells[at]!]! - 1;
        if (ordinal < 0 || (isClosed && scratch.scores[ordinal] === 0)) continue;
        scratch.add(ordinal, factor * this.#impact(cells[at]!, cells[at + 1]!), met);
      }
    }
  }

  /** What a term gives a document and by which fields; undefined when the document does not have it. */
  explain(term: QuestionTerm, document: number): Omit<ExplainedTerm, 'share'> | undefined {
    let packed = 0;
    this.#pool.postings.each(term.number, (other, counts) => {
      if (other === document) packed = counts;
    });
    if (packed === 0) return undefined;
    const parts = FIELDS.flatMap((field, i) => {
      const count = (packed >>> (i * 4)) & 15;
      return count === 0 ? [] : [{ field, count, part: this.#fieldPart(document, i, count) }];
    });
    const sum = parts.reduce((all, { part }) => all + part, 0);
    const fields = parts
      .map(({ field, count, part }) => ({ field, count, share: part / sum }))
      .sort((a, b) => b.share - a.share);
    const rarity = this.#idf(term.rarityTools);
    const { word, term: text, kind, weight, tools } = term;
    const score = rarity * weight * this.#impact(document, packed);
    return { word, term: text, kind, weight, tools, rarity, score, fields };
  }
}

/** Words met are counted in whole tenths, so that their sum does not depend on the order of adding. */
export function tenthsMet(term: QuestionTerm): number {
  return Math.round(term.met * 10);
}
