import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../src/catalog/tool.ts';
import type { IndexedTool } from '../src/search/index.ts';
import { readQuestionsFile, type Question } from '../src/search/questions-file.ts';

/** The project's folder, from the sources as from what is built of them in `dist-eval`. */
export const PROJECT = projectFolder();

/** Our own questions about invented tools. */
export const OWN_SET = join(PROJECT, 'eval/set');

export interface EvaluationSet {
  readonly tools: readonly IndexedTool[];
  readonly questions: readonly Question[];
}

function projectFolder(): string {
  const here = fileURLToPath(new URL('.', import.meta.url));
  return here.replace(/(?:[\\/]dist-eval)?[\\/]eval[\\/]$/, '');
}

interface ToolLine {
  readonly name: string;
  readonly title?: string | null;
  readonly description?: string;
  readonly inputSchema?: JsonObject;
}

/**
 * Reads `tools.jsonl` and `queries.jsonl` of a folder. All tools are those of one upstream called `bench`,
 * as the program sees a catalog that a gateway has put together.
 */
export function readSet(folder: string): EvaluationSet {
  const lines = readFileSync(join(folder, 'tools.jsonl'), 'utf8').split('\n');
  const tools = lines.filter((line) => line !== '').map((line) => indexedTool(JSON.parse(line) as ToolLine));
  const { questions, problems } = readQuestionsFile(readFileSync(join(folder, 'queries.jsonl'), 'utf8'));
  for (const { line, problem } of problems)
    throw new Error(`${folder}/queries.jsonl, line ${line}: ${problem}`);
  return { tools, questions };
}

function indexedTool(line: ToolLine): IndexedTool {
  const definition = {
    name: line.name,
    ...(line.title ? { title: line.title } : {}),
    description: line.description ?? '',
    inputSchema: line.inputSchema ?? {},
  };
  return {
    ...definition,
    exposedName: line.name,
    upstream: 'bench',
    digest: createHash('sha256').update(JSON.stringify(definition)).digest('base64url'),
  };
}
