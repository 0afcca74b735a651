import type { JsonObject } from '../catalog/tool.ts';
import type { Field } from './fields.ts';
import type { DocumentCounts } from './meaning-port.ts';

/** What the index reads of one tool. */
export interface IndexedTool {
  /** The name callers use; the answer is in these names' order positions. Unique within a view. */
  readonly exposedName: string;
  /** The tool's own name, without any prefix. */
  readonly name: string;
  /** The upstream's name as its owner wrote it. */
  readonly upstream: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Equal digests mean equal name, title, description and schemas; documents are shared by it (with `upstream`). */
  readonly digest: string;
}

export interface SearchOptions {
  /** How many matches at most, 1 or more. */
  readonly limit: number;
  /** The question as a vector, when an embedder answered in time; absent means words only. */
  readonly vector?: Float32Array;
}

export interface Match {
  /** Position of the tool in the array the view was opened with. */
  readonly position: number;
  /** Higher is better; comparable within one answer only. */
  readonly score: number;
}

export interface SearchOutcome {
  /** Best first. Ties are broken by exposed name, so equal input gives equal output. */
  readonly matches: readonly Match[];
  /** Share (0–1) of the question's idf mass that the view's vocabulary knows. */
  readonly coverage: number;
  /** What the order is made of. */
  readonly basis: Basis;
}

/**
 * `words`: by words alone, because the question has no vector or too few of the view's documents do; `part`: by words
 * and meaning, while some documents still have no vector and are guessed by their words; `first`: by both, while some
 * documents have only the first part of their vector and no other part counts; `meaning`: by both.
 */
export type Basis = 'words' | 'part' | 'first' | 'meaning';

/** Why the tools of an answer stand where they stand. */
export interface Explanation extends SearchOutcome {
  readonly matches: readonly ExplainedMatch[];
  /** The question's words that were looked up, as coverage counts them. */
  readonly words: readonly ExplainedWord[];
  /** Words of the question that carry grammar only and were not looked up. */
  readonly ignored: readonly string[];
}

export interface ExplainedWord {
  readonly word: string;
  /** 1 for a word the view knows, less for one it only knows something near to, 0 for an unknown one. */
  readonly known: number;
  /** How many tools of the view have it. */
  readonly tools: number;
}

/** The match's score is `named + words + meaning`. */
export interface ExplainedMatch extends Match {
  /** What being named in the question adds; 0 when the question does not name the tool. */
  readonly named: number;
  /** What its words add: `metFactor · Σ terms.score`, times their weight when meaning takes part (0.15, more when words say very much). */
  readonly words: number;
  /**
   * What meaning adds: how far its similarity lies above the view's mean, in standard deviations; for a tool without a
   * vector, what its words let expect.
   */
  readonly meaning: number;
  /**
   * The product of the question's vector and the tool's, as far as it counts: their cosine, where vectors have no parts.
   * Absent when the tool has no vector or the question had none.
   */
  readonly similarity?: number;
  /** What meeting several of the question's words multiplies the terms' scores by. */
  readonly metFactor: number;
  /** Best first. */
  readonly terms: readonly ExplainedTerm[];
}

export interface ExplainedTerm {
  /** The word of the question that the term stands for. */
  readonly word: string;
  /** As indexed: stemmed and without diacritics. */
  readonly term: string;
  readonly kind: TermKind;
  /** 1 for one of the question's own words said once. */
  readonly weight: number;
  /** How many tools of the view have the term, and the rarity (idf) that follows from it. */
  readonly tools: number;
  readonly rarity: number;
  readonly score: number;
  /** The term's part of all terms' scores, 0–1. */
  readonly share: number;
  /** Where in the tool it was found, weightiest first, with the field's part of the term's score. */
  readonly fields: readonly { readonly field: Field; readonly count: number; readonly share: number }[];
}

/**
 * How a term came to stand for a word: it is the word; it means about the same; it is spelt nearly the same;
 * two neighbours written as one; one word written as two.
 */
export type TermKind = 'word' | 'synonym' | 'near' | 'joined' | 'split';

/** Answers the questions of one view. Synchronous and pure: no I/O, no clock. */
export interface ToolIndex {
  search(query: string, options: SearchOptions): SearchOutcome;
  /** The same answer with its reasons; slower, for people. */
  explain(query: string, options: SearchOptions): Explanation;
  /** Tools that are the same in all are one document. */
  readonly documents: DocumentCounts;
  /**
   * Positions of tools whose document lacks this part of its vector (0, the first, where vectors have no parts), one
   * for each document. What an embedder reads of such a tool is its `meaningText`.
   */
  unembedded(part?: number): readonly number[];
  /**
   * Keeps the vector of a tool's document, or this part of it, in the pool: every view that has the document has it.
   * All vectors of a pool have as many numbers as the first that came, part by part; one of another length is a
   * `RangeError`.
   */
  setVector(position: number, vector: Float32Array, part?: number): void;
  /** Gives the documents back to the pool. An index must not be searched after that. */
  close(): void;
}

/**
 * Every document of the process, analyzed and stored once per digest; views are sets of them. What a view
 * answers depends only on its own documents, never on what else the pool holds.
 */
export interface DocumentPool {
  openView(tools: readonly IndexedTool[]): ToolIndex;
  /** How many documents the pool holds for open views. */
  readonly size: number;
  /** Bytes of its arrays (where words stand, lengths, vectors), room made ahead included; without the words themselves. */
  readonly bytes: number;
}
