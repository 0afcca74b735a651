import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../src/catalog/tool.ts';
import type { IndexedTool } from '../src/search/index.ts';

/** The project's folder, from the sources as from what is built of them in `dist-eval`. */
export const PROJECT = projectFolder();

/** Our own questions about invented tools. */
export const OWN_SET = join(PROJECT, 'eval/set');

export interface Question {
  readonly id: string;
  readonly text: string;
  readonly language: string;
  /** Names of the right tools. */
  readonly relevant: readonly string[];
}

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

interface QuestionLine {
  readonly id: string;
  readonly query: string;
  readonly lang?: string;
  readonly relevant: readonly string[];
}

/**
 * Reads `tools.jsonl` and `queries.jsonl` of a folder. All tools are those of one upstream called `bench`,
 * as the program sees a catalog that a gateway has put together.
 */
export function readSet(folder: string): EvaluationSet {
  const tools = readLines(join(folder, 'tools.jsonl')).map((line) => indexedTool(line as ToolLine));
  const questions = (readLines(join(folder, 'queries.jsonl')) as readonly QuestionLine[]).map((line) => ({
    id: line.id,
    text: line.query,
    language: line.lang ?? 'en',
    relevant: line.relevant,
  }));
  return { tools, questions };
}

function readLines(file: string): readonly unknown[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as unknown);
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
