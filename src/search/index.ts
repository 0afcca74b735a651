export { createDocumentPool, type PoolOptions } from './pool.ts';
export { RANKING, type Field, type RankingConstants } from './fields.ts';
export type * from './tool-index.ts';
export type { Embedder } from './embedder.ts';
export { withNeighbours, type Described } from './neighbours.ts';
