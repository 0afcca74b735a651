import type { Catalog, CatalogTool } from '../catalog/catalog.ts';
import type { ProxyError } from '../base/errors.ts';
import type { Basis, ToolIndex } from '../search/tool-index.ts';
import type { RosterEntry } from '../roster/roster.ts';

/** An enabled upstream whose tools are missing from a view. */
export interface Unavailable {
  readonly name: string;
  /** Why, in words a model can pass on. */
  readonly reason: string;
  /** `starting`: asking again soon will do; `failed`: see the error; `waiting`: (some of) its tools wait for a person. */
  readonly state: 'starting' | 'failed' | 'waiting';
  readonly error?: ProxyError;
}

/** What one caller may use now. Immutable; the next listing makes the next view. */
export interface View {
  readonly catalog: Catalog;
  /** Answers questions over `catalog.tools`, by position in it. After waiting for something, take it from here anew. */
  readonly index: ToolIndex;
  /**
   * The tools that answer a question best, in order: matches, and neighbours of theirs where those are few. With the
   * question's vector the order is made of words and meaning.
   */
  search(query: string, limit: number, vector?: Float32Array): FoundTools;
  /**
   * A vector for each question, in order, or none at all: without a model, while too few of the view's tools have
   * theirs, or when they do not come in time. Never rejects.
   */
  questionVectors(questions: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]>;
  readonly unavailable: readonly Unavailable[];
  /** Each upstream's own instructions, unchanged, in the order they were configured. */
  readonly instructions: readonly { readonly upstream: string; readonly text: string }[];
  /** Entries of listings that could not be kept. */
  readonly dropped: readonly { readonly upstream: string; readonly name: string; readonly reason: string }[];
  /** The upstream a tool of this view is called at, and the credential scope to call it in. */
  route(tool: CatalogTool): { readonly entry: RosterEntry; readonly scope: string };
}

export interface FoundTools {
  /** Best first. */
  readonly tools: readonly CatalogTool[];
  /** What their order is made of. */
  readonly basis: Basis;
}
