import type { Catalog, CatalogTool } from '../catalog/catalog.ts';
import type { ProxyError } from '../base/errors.ts';
import type { ToolIndex } from '../search/tool-index.ts';
import type { RosterEntry } from '../roster/roster.ts';

/** An enabled upstream whose tools are missing from a view. */
export interface Unavailable {
  readonly name: string;
  /** Why, in words a model can pass on. */
  readonly reason: string;
  /** `starting`: asking again soon will do; `failed`: see the error. */
  readonly state: 'starting' | 'failed';
  readonly error?: ProxyError;
}

/** What one caller may use now. Immutable; the next listing makes the next view. */
export interface View {
  readonly catalog: Catalog;
  /** Answers questions over `catalog.tools`, by position in it. */
  readonly index: ToolIndex;
  /** The tools that answer a question best, in order: matches, and neighbours of theirs where those are few. */
  search(query: string, limit: number): readonly CatalogTool[];
  readonly unavailable: readonly Unavailable[];
  /** Each upstream's own instructions, unchanged, in the order they were configured. */
  readonly instructions: readonly { readonly upstream: string; readonly text: string }[];
  /** Entries of listings that could not be kept. */
  readonly dropped: readonly { readonly upstream: string; readonly name: string; readonly reason: string }[];
  /** The upstream a tool of this view is called at, and the credential scope to call it in. */
  route(tool: CatalogTool): { readonly entry: RosterEntry; readonly scope: string };
}
