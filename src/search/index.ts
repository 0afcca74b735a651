export { createDocumentPool, type PoolOptions } from './pool.ts';
export { RANKING, type Field, type RankingConstants } from './fields.ts';
export type * from './tool-index.ts';
export type { Embedder, TextRole } from './embedder.ts';
export { meaningText } from './meaning-text.ts';
export { withNeighbours, type Described } from './neighbours.ts';
export { byLanguage, pairedDifference, scoresOf, type LanguageScores, type Measured } from './measure.ts';
export { measureAnswer, readQuestionsFile, type Question, type QuestionsFile } from './questions-file.ts';
