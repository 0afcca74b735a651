import { expect, test } from 'vitest';
import { createDocumentPool } from '../src/search/index.ts';
import { byLanguage, type Measured } from '../src/search/measure.ts';
import { measureAnswer } from '../src/search/questions-file.ts';
import { startStdioProgram } from '../test/support/proxy.ts';
import { scriptStdio } from '../test/support/stdio-upstream.ts';
import { until } from '../test/support/wait.ts';
import { HAS_PACKED_MODEL, openEmbedderFor } from './embedder.ts';
import { OWN_SET, readSet, type EvaluationSet } from './evaluation-set.ts';
import { embedSet, giveVectors, measure } from './rank.ts';

interface Answer {
  readonly result: {
    readonly structuredContent: {
      readonly tools: readonly { readonly name: string }[];
      readonly total: number;
      readonly ranking?: string;
    };
  };
}

/** Asks the built program every question, over stdio; `flags` say which embedder. */
async function throughProgram(set: EvaluationSet, flags: readonly string[]): Promise<readonly Measured[]> {
  const upstream = scriptStdio({
    tools: set.tools.map(({ name, description, inputSchema }) => ({
      definition: { name, description, inputSchema },
    })),
  });
  const { client } = await startStdioProgram(
    'legacy',
    { mcpServers: { bench: { command: upstream.command, args: upstream.args } } },
    { args: flags },
  );
  await client.initialize();
  const ask = async (query: string): Promise<Answer['result']['structuredContent']> => {
    const reply = await client.call('search_tools', JSON.stringify({ query, limit: 10, schemas: false }));
    return (JSON.parse(reply) as Answer).result.structuredContent;
  };
  const isByWords = flags.includes('none');
  await until(
    'every tool is there, with its vector where there are any',
    async () => {
      const { total, ranking } = await ask('anything');
      return total === set.tools.length && (isByWords || ranking === undefined);
    },
    120_000,
  );
  const answers: Measured[] = [];
  for (const question of set.questions) {
    const { tools, ranking } = await ask(question.text);
    expect(ranking).toBe(isByWords ? 'words' : undefined);
    answers.push(
      measureAnswer(
        question,
        tools.map(({ name }) => name),
      ),
    );
  }
  return answers;
}

/** `mrr`: how far apart the mean reciprocal ranks of one language may be. */
function expectAlike(through: readonly Measured[], alone: readonly Measured[], mrr = 0.005): void {
  const rows = byLanguage(alone);
  for (const [i, { language, scores }] of byLanguage(through).entries()) {
    expect(language).toBe(rows[i]!.language);
    expect(Math.abs(scores.recall5.mean - rows[i]!.scores.recall5.mean)).toBeLessThanOrEqual(0.005);
    expect(Math.abs(scores.mrr.mean - rows[i]!.scores.mrr.mean)).toBeLessThanOrEqual(mrr);
  }
}

function inLanguages(languages: readonly string[], most: number): EvaluationSet {
  const whole = readSet(OWN_SET);
  const questions = languages.flatMap((wanted) =>
    whole.questions.filter(({ language }) => language === wanted).slice(0, most),
  );
  return { ...whole, questions };
}

test(
  'the built program over stdio ranks as the index alone does, within half a point',
  { timeout: 120_000 },
  async () => {
    const set = inLanguages(['en', 'lt'], Number.POSITIVE_INFINITY);
    const through = await throughProgram(set, ['--embedder', 'none']);
    expectAlike(through, measure(createDocumentPool().openView(set.tools), set));
  },
);

test.skipIf(!HAS_PACKED_MODEL)(
  'with the packed model it ranks as words and vectors in this process do, in every language',
  { timeout: 300_000 },
  async () => {
    const set = inLanguages(['en', 'de', 'lt', 'fr', 'pl', 'ru', 'tr', 'zh', 'ja'], 30);
    const embedder = openEmbedderFor('packed')!;
    const vectors = await embedSet(set, embedder);
    await embedder.close();
    const index = createDocumentPool().openView(set.tools);
    giveVectors(index, vectors);
    // A slow machine must not turn a late vector into another answer.
    const flags = ['--embedder', 'packed', '--question-vector-ms', '60000'];
    // Vectors in the program have been through eight bits once more: a question of thirty may move by a place.
    expectAlike(await throughProgram(set, flags), measure(index, set, vectors.questions), 0.02);
  },
);
