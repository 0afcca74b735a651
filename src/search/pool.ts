import { DocumentReader } from './document-reader.ts';
import { FIELDS, RANKING, Weighing, type RankingConstants } from './fields.ts';
import { isPrefixed } from './meaning-text.ts';
import { Postings } from './postings.ts';
import type {
  DocumentPool,
  Explanation,
  IndexedTool,
  SearchOptions,
  SearchOutcome,
  ToolIndex,
} from './tool-index.ts';
import { Scratch } from './scratch.ts';
import { toolText } from './tool-text.ts';
import { View } from './view.ts';
import { VectorMatrix } from './vector-matrix.ts';
import { Vocabulary } from './vocabulary.ts';

export interface PoolOptions {
  readonly constants?: RankingConstants;
  /** Compact when more documents than this, and a third of all, have no view any more. */
  readonly compactAfter?: number;
}

export function createDocumentPool({
  constants = RANKING,
  compactAfter = 64,
}: PoolOptions = {}): DocumentPool {
  return new Pool(constants, compactAfter);
}

const FIELD_COUNT = FIELDS.length;
/** What a view reads of its pool. Document numbers change when the pool compacts; the pool renumbers its views. */
export class Pool implements DocumentPool {
  readonly scratch = new Scratch();
  vocabulary = new Vocabulary();
  postings = new Postings();
  /** Field lengths in terms, eight a document. */
  lengths = new Uint16Array(64 * FIELD_COUNT);
  /** A document's language, as a place in `LATIN_LANGUAGES`. */
  languages = new Uint8Array(64);
  names: string[] = [];
  upstreams: string[] = [];
  /** Vectors by document number, for each of their parts; each undefined until the first comes. */
  vectors: (VectorMatrix | undefined)[] = [];

  #reader = new DocumentReader(this.vocabulary);
  /** How many open views have the document. A document nobody has stays until compaction: refreshes bring it back. */
  #references: number[] = [];
  #numbers = new Map<string, Map<string, number>>();
  #dead = 0;
  readonly #compactAfter: number;
  readonly #weighing: Weighing;
  readonly #views = new Set<View>();

  constructor(constants: RankingConstants, compactAfter: number) {
    this.#compactAfter = compactAfter;
    this.#weighing = new Weighing(constants);
  }

  get size(): number {
    return this.names.length - this.#dead;
  }

  get bytes(): number {
    const vectors = this.vectors.reduce((sum, matrix) => sum + (matrix?.bytes ?? 0), 0);
    return this.postings.bytes + this.lengths.byteLength + this.languages.byteLength + vectors;
  }

  /** Documents with a number, with or without a view. */
  get capacity(): number {
    return this.names.length;
  }

  openView(tools: readonly IndexedTool[], weighing = this.#weighing): ToolIndex {
    const before = this.capacity;
    const documents = tools.map((tool) => this.#numberOf(tool));
    this.#reader.rest();
    if (this.capacity > before) this.postings.trim();
    const view = this.#sharedView(documents, tools, weighing);
    view.users++;
    return new OpenView(view, () => this.#leave(view));
  }

  setVector(document: number, vector: Float32Array, part: number): void {
    while (this.vectors.length <= part) this.vectors.push(undefined);
    (this.vectors[part] ??= new VectorMatrix(vector.length)).set(document, vector);
  }

  /** The document of a tool; nobody holds it yet when it is new. */
  #numberOf(tool: IndexedTool): number {
    // Under a prefix the upstream is part of what an embedder reads, so that is another document.
    const key = isPrefixed(tool) ? `${tool.upstream}\0` : tool.upstream;
    let numbers = this.#numbers.get(key);
    if (numbers === undefined) this.#numbers.set(key, (numbers = new Map()));
    const known = numbers.get(tool.digest);
    if (known !== undefined) return known;
    const number = this.#add(tool);
    numbers.set(tool.digest, number);
    return number;
  }

  /** Callers who may use the same tools under the same names share a view, and what it has learnt. */
  #sharedView(documents: readonly number[], tools: readonly IndexedTool[], weighing: Weighing): View {
    for (const view of this.#views) if (view.isOf(documents, tools, weighing)) return view;
    const view = new View(this, documents, tools, weighing);
    for (const document of view.documents) {
      const references = this.#references[document]!;
      if (references === 0) this.#dead--;
      this.#references[document] = references + 1;
    }
    this.#views.add(view);
    return view;
  }

  #leave(view: View): void {
    view.users--;
    if (view.users > 0) return;
    this.#views.delete(view);
    this.scratch.drop(view);
    for (const document of view.documents) {
      const left = this.#references[document]! - 1;
      this.#references[document] = left;
      if (left === 0) this.#dead++;
    }
    if (this.#dead > this.#compactAfter && this.#dead * 2 > this.size) this.#compact();
  }

  #add(tool: IndexedTool): number {
    const number = this.names.length;
    this.names.push(tool.name);
    this.upstreams.push(tool.upstream);
    this.#references.push(0);
    this.#dead++;
    if (number === this.languages.length) {
      const room = Math.ceil(number * 1.5);
      this.languages = grown(this.languages, new Uint8Array(room));
      this.lengths = grown(this.lengths, new Uint16Array(room * FIELD_COUNT));
    }
    const reader = this.#reader;
    reader.read(toolText(tool));
    for (const term of reader.terms) this.postings.add(term, number, reader.countsOf(term));
    this.lengths.set(reader.lengths, number * FIELD_COUNT);
    this.languages[number] = reader.language;
    return number;
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
      if (to < 0) return;
      languages[to] = this.languages[from]!;
      lengths.set(this.lengths.subarray(from * FIELD_COUNT, (from + 1) * FIELD_COUNT), to * FIELD_COUNT);
    });
    for (const [upstream, numbers] of this.#numbers) {
      for (const [digest, from] of numbers) {
        const to = renumbered[from]!;
        if (to < 0) numbers.delete(digest);
        else numbers.set(digest, to);
      }
      if (numbers.size === 0) this.#numbers.delete(upstream);
    }
    this.lengths = lengths;
    this.languages = languages;
    this.vectors = this.vectors.map((part) => part?.renumbered(renumbered));
    this.names = this.names.filter(isKept);
    this.upstreams = this.upstreams.filter(isKept);
    this.#references = this.#references.filter(isKept);
    this.#dead = 0;
    for (const view of this.#views) view.renumber(renumbered);
  }

  #renumberTerms(renumbered: Int32Array): void {
    const before = { vocabulary: this.vocabulary, postings: this.postings };
    this.vocabulary = new Vocabulary();
    this.#reader = new DocumentReader(this.vocabulary);
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

/** One caller's hold on a view. */
class OpenView implements ToolIndex {
  readonly #view: View;
  #leave: (() => void) | undefined;

  constructor(view: View, leave: () => void) {
    this.#view = view;
    this.#leave = leave;
  }

  search(question: string, options: SearchOptions): SearchOutcome {
    this.#demandOpen();
    return this.#view.search(question, options);
  }

  explain(question: string, options: SearchOptions): Explanation {
    this.#demandOpen();
    return this.#view.explain(question, options);
  }

  get documents(): ToolIndex['documents'] {
    this.#demandOpen();
    return { all: this.#view.documents.length, embedded: this.#view.embedded };
  }

  unembedded(part = 0): readonly number[] {
    this.#demandOpen();
    return this.#view.unembedded(part);
  }

  setVector(position: number, vector: Float32Array, part = 0): void {
    this.#demandOpen();
    this.#view.setVector(position, vector, part);
  }

  close(): void {
    const leave = this.#leave;
    this.#leave = undefined;
    leave?.();
  }

  #demandOpen(): void {
    if (this.#leave === undefined) throw new Error('A view was searched after it was closed');
  }
}

function grown<T extends Uint8Array | Uint16Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
