import { termsOf } from './analyzer.ts';
import { FIELDS, RANKING, type RankingConstants } from './fields.ts';
import { FUNCTION_WORDS } from './function-words.ts';
import { LATIN_LANGUAGES, languageOf } from './language.ts';
import { Postings } from './postings.ts';
import type { DocumentPool, IndexedTool } from './tool-index.ts';
import { Scratch } from './scratch.ts';
import { toolText } from './tool-text.ts';
import { View } from './view.ts';
import { Vocabulary } from './vocabulary.ts';
import { scanWords, type Script } from './words.ts';

export function createDocumentPool(constants: RankingConstants = RANKING): DocumentPool {
  return new Pool(constants);
}

/** Below this many documents without a view, compaction is not worth its time. */
const FEWEST_DEAD = 64;
const FIELD_COUNT = FIELDS.length;
/** Counts are four bits wide. */
const MOST_COUNTED = 15;
/** Fields of running text, where function words are not indexed; a name like `who_is` keeps them. */
const IS_PROSE = FIELDS.map((field) => field === 'lead' || field === 'rest' || field === 'parameterText');

/** What a view reads of its pool. Document numbers change when the pool compacts; the pool renumbers its views. */
export class Pool implements DocumentPool {
  readonly constants: RankingConstants;
  /** `constants.weight` in the order of fields, for the inner loop. */
  readonly weights: Float64Array;
  readonly scratch = new Scratch();
  vocabulary = new Vocabulary();
  postings = new Postings();
  /** Field lengths in terms, eight a document. */
  lengths = new Uint16Array(64 * FIELD_COUNT);
  /** A document's language, as a place in `LATIN_LANGUAGES`. */
  languages = new Uint8Array(64);
  names: string[] = [];
  upstreams: string[] = [];

  #digests: string[] = [];
  /** How many open views have the document. A document nobody has stays until compaction: refreshes bring it back. */
  #references: number[] = [];
  #numbers = new Map<string, Map<string, number>>();
  #dead = 0;
  readonly #views = new Set<View>();

  constructor(constants: RankingConstants) {
    this.constants = constants;
    this.weights = Float64Array.from(FIELDS, (field) => constants.weight[field]);
  }

  get size(): number {
    return this.names.length - this.#dead;
  }

  /** Documents with a number, with or without a view. */
  get capacity(): number {
    return this.names.length;
  }

  openView(tools: readonly IndexedTool[]): View {
    const documents = tools.map((tool) => this.#acquire(tool));
    const view = new View(this, documents, tools);
    this.#views.add(view);
    return view;
  }

  closeView(view: View, documents: Int32Array): void {
    if (!this.#views.delete(view)) return;
    for (const document of documents) {
      if (--this.#references[document]! === 0) this.#dead++;
    }
    if (this.#dead > FEWEST_DEAD && this.#dead * 2 > this.size) this.#compact();
  }

  #acquire(tool: IndexedTool): number {
    let numbers = this.#numbers.get(tool.upstream);
    if (numbers === undefined) this.#numbers.set(tool.upstream, (numbers = new Map()));
    let number = numbers.get(tool.digest);
    if (number === undefined) {
      number = this.#add(tool);
      numbers.set(tool.digest, number);
    } else if (this.#references[number]! === 0) {
      this.#dead--;
    }
    this.#references[number]!++;
    return number;
  }

  #add(tool: IndexedTool): number {
    const number = this.names.length;
    this.names.push(tool.name);
    this.upstreams.push(tool.upstream);
    this.#digests.push(tool.digest);
    this.#references.push(0);
    if (number === this.languages.length) {
      const room = Math.ceil(number * 1.5);
      this.languages = grown(this.languages, new Uint8Array(room));
      this.lengths = grown(this.lengths, new Uint16Array(room * FIELD_COUNT));
    }
    this.#index(number, tool);
    return number;
  }

  #index(number: number, tool: IndexedTool): void {
    const text = toolText(tool);
    const words: string[] = [];
    const scripts: Script[] = [];
    const ends = FIELDS.map((field) => {
      scanWords(text[field], (word, script) => {
        words.push(word);
        scripts.push(script);
      });
      return words.length;
    });
    // Names are English in any catalog; the language is that of the sentences.
    const language = languageOf(words.slice(ends[FIELDS.indexOf('server')]));
    this.languages[number] = LATIN_LANGUAGES.indexOf(language);

    const counts = new Map<number, number>();
    let i = 0;
    for (let field = 0; field < FIELD_COUNT; field++) {
      const isProse = IS_PROSE[field]!;
      let length = 0;
      for (; i < ends[field]!; i++) {
        const word = words[i]!;
        if (isProse && (FUNCTION_WORDS.english.has(word) || FUNCTION_WORDS[language].has(word))) continue;
        for (const term of termsOf(word, scripts[i]!, isProse ? language : 'english')) {
          length++;
          const termNumber = this.vocabulary.add(term);
          const before = counts.get(termNumber) ?? 0;
          if (((before >>> (field * 4)) & MOST_COUNTED) < MOST_COUNTED) counts.set(termNumber, (before + 2 ** (field * 4)) | 0);
        }
      }
      this.lengths[number * FIELD_COUNT + field] = Math.min(length, 65_535);
    }
    for (const [term, packed] of counts) this.postings.add(term, number, packed);
  }

  /** Rebuilds everything from the documents that a view still has; words nobody has any more go too. */
  #compact(): void {
    const renumbered = new Int32Array(this.capacity).fill(-1);
    let next = 0;
    for (let document = 0; document < renumbered.length; document++) {
      if (this.#references[document]! > 0) renumbered[document] = next++;
    }
    const isKept = (_: unknown, document: number): boolean => renumbered[document]! >= 0;
    this.#renumberTerms(renumbered);

    const lengths = new Uint16Array(Math.max(64, next) * FIELD_COUNT);
    const languages = new Uint8Array(Math.max(64, next));
    renumbered.forEach((to, from) => {
      if (to < 0) {
        const numbers = this.#numbers.get(this.upstreams[from]!);
        numbers?.delete(this.#digests[from]!);
        if (numbers?.size === 0) this.#numbers.delete(this.upstreams[from]!);
        return;
      }
      this.#numbers.get(this.upstreams[from]!)?.set(this.#digests[from]!, to);
      languages[to] = this.languages[from]!;
      lengths.set(this.lengths.subarray(from * FIELD_COUNT, (from + 1) * FIELD_COUNT), to * FIELD_COUNT);
    });
    this.lengths = lengths;
    this.languages = languages;
    this.names = this.names.filter(isKept);
    this.upstreams = this.upstreams.filter(isKept);
    this.#digests = this.#digests.filter(isKept);
    this.#references = this.#references.filter(isKept);
    this.#dead = 0;
    for (const view of this.#views) view.renumber(renumbered);
  }

  #renumberTerms(renumbered: Int32Array): void {
    const before = { vocabulary: this.vocabulary, postings: this.postings };
    this.vocabulary = new Vocabulary();
    this.postings = new Postings();
    for (let term = 0; term < before.vocabulary.size; term++) {
      let number = -1;
      before.postings.each(term, (document, counts) => {
        const to = renumbered[document]!;
        if (to < 0) return;
        if (number < 0) number = this.vocabulary.add(before.vocabulary.term(term));
        this.postings.add(number, to, counts);
      });
    }
  }
}

function grown<T extends Uint8Array | Uint16Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
