export { createDocumentPool, type PoolOptions } from './pool.ts';
export { RANKING, type Field, type RankingConstants } from './fields.ts';
export type { DocumentPool, IndexedTool, Match, SearchOptions, SearchOutcome, ToolIndex } from './tool-index.ts';
