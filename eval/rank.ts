import { meaningText, type Embedder, type IndexedTool, type ToolIndex } from '../src/search/index.ts';
import type { Measured } from '../src/search/measure.ts';
import { measureAnswer } from '../src/search/questions-file.ts';
import { VectorMatrix } from '../src/search/vector-matrix.ts';
import type { EvaluationSet } from './evaluation-set.ts';

const LIMIT = 10;
const AT_ONCE = 64;

/** Asks every question of a set and notes where the right tools stood among the first ten. */
export function measure(
  index: ToolIndex,
  { tools, questions }: EvaluationSet,
  vectors: readonly Float32Array[] = [],
): readonly Measured[] {
  return questions.map((question, i) => {
    const vector = vectors[i];
    const { matches } = index.search(question.text, {
      limit: LIMIT,
      ...(vector === undefined ? {} : { vector }),
    });
    const names = matches.map(({ position }) => tools[position]!.exposedName);
    return measureAnswer(question, names);
  });
}

/** The vectors of a set's questions and tools, in their order. */
export interface SetVectors {
  /** How many numbers each part of a vector has; a single one where there are no parts. */
  readonly parts: readonly number[];
  readonly questions: readonly Float32Array[];
  readonly tools: readonly Float32Array[];
}

export async function embedSet({ tools, questions }: EvaluationSet, embedder: Embedder): Promise<SetVectors> {
  const inBatches = async (texts: readonly string[], role: 'question' | 'document') => {
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += AT_ONCE)
      vectors.push(...(await embedder.embed(texts.slice(at, at + AT_ONCE), role)));
    return vectors;
  };
  return {
    parts: embedder.parts?.dimensions ?? [embedder.dimensions],
    tools: await inBatches(tools.map(meaningText), 'document'),
    questions: await inBatches(
      questions.map(({ text }) => text),
      'question',
    ),
  };
}

/** Gives the documents of a view their vectors, as the program does behind. */
export function giveVectors(index: ToolIndex, { tools, parts }: SetVectors): void {
  let from = 0;
  for (const [part, length] of parts.entries()) {
    const to = from + length;
    for (const position of index.unembedded(part))
      index.setVector(position, tools[position]!.subarray(from, to), part);
    from = to;
  }
}

/** The same by similarity alone: what the model is worth without words and names. */
export function measureModelAlone(
  { tools, questions }: EvaluationSet,
  vectors: SetVectors,
): readonly Measured[] {
  const matrix = new VectorMatrix(vectors.tools[0]?.length ?? 1);
  vectors.tools.forEach((vector, position) => matrix.set(position, vector));
  const rows = Int32Array.from(tools.keys());
  const similarities = new Float32Array(tools.length);
  return questions.map((question, i) => {
    matrix.similarities(vectors.questions[i]!, rows, similarities);
    return measureAnswer(question, namesOfBest(tools, similarities));
  });
}

function namesOfBest(tools: readonly IndexedTool[], similarities: Float32Array): readonly string[] {
  const order = [...tools.keys()].sort(
    (a, b) => similarities[b]! - similarities[a]! || (tools[a]!.exposedName < tools[b]!.exposedName ? -1 : 1),
  );
  return order.slice(0, LIMIT).map((position) => tools[position]!.exposedName);
}
