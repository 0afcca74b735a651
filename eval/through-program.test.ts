import { expect, test } from 'vitest';
import { createDocumentPool } from '../src/search/index.ts';
import { byLanguage } from '../src/search/measure.ts';
import { measureAnswer } from '../src/search/questions-file.ts';
import { startStdioProgram } from '../test/support/proxy.ts';
import { scriptStdio } from '../test/support/stdio-upstream.ts';
import { until } from '../test/support/wait.ts';
import { OWN_SET, readSet } from './evaluation-set.ts';
import { measure } from './rank.ts';

interface Answer {
  readonly result: {
    readonly structuredContent: {
      readonly tools: readonly { readonly name: string }[];
      readonly total: number;
    };
  };
}

test(
  'the built program over stdio ranks as the index alone does, within half a point',
  { timeout: 120_000 },
  async () => {
    const whole = readSet(OWN_SET);
    const set = {
      ...whole,
      questions: whole.questions.filter(({ language }) => language === 'en' || language === 'lt'),
    };
    const upstream = scriptStdio({
      tools: set.tools.map(({ name, description, inputSchema }) => ({
        definition: { name, description, inputSchema },
      })),
    });
    const { client } = await startStdioProgram(
      'legacy',
      { mcpServers: { bench: { command: upstream.command, args: upstream.args } } },
      { args: ['--embedder', 'none'] },
    );
    await client.initialize();
    const ask = async (query: string): Promise<Answer['result']['structuredContent']> => {
      const reply = await client.call('search_tools', JSON.stringify({ query, limit: 10, schemas: false }));
      return (JSON.parse(reply) as Answer).result.structuredContent;
    };
    await until('every tool is listed', async () => (await ask('anything')).total === set.tools.length);

    const answers = [];
    for (const question of set.questions) {
      const { tools } = await ask(question.text);
      answers.push(
        measureAnswer(
          question,
          tools.map(({ name }) => name),
        ),
      );
    }
    const through = byLanguage(answers);
    const alone = byLanguage(measure(createDocumentPool().openView(set.tools), set));
    for (const [i, { language, scores }] of through.entries()) {
      expect(language).toBe(alone[i]!.language);
      expect(Math.abs(scores.recall5.mean - alone[i]!.scores.recall5.mean)).toBeLessThanOrEqual(0.005);
      expect(Math.abs(scores.mrr.mean - alone[i]!.scores.mrr.mean)).toBeLessThanOrEqual(0.005);
    }
  },
);
