import type { JsonObject } from '../catalog/tool.ts';

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
}

/** Answers the questions of one view. Synchronous and pure: no I/O, no clock. */
export interface ToolIndex {
  search(query: string, options: SearchOptions): SearchOutcome;
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
}
