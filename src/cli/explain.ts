import type { ExplainedSearch } from '../app.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { noteUnavailable, printable } from './meta-answer.ts';
import { tableText } from './table.ts';
import { withProxy } from './with-proxy.ts';

const DEFAULT_LIMIT = 8;

type ExplainedTool = ExplainedSearch['tools'][number];

/** Why tools stand where they stand: which words of the question each has, and where. */
export async function explain(context: Context): Promise<number> {
  const { output, line } = context;
  const query = line.operands.join(' ');
  const limit = Number(line.flags.get('limit') ?? DEFAULT_LIMIT);
  return withProxy(
    context,
    async (proxy) => {
      const explained = await proxy.local.explain(query, limit);
      if (output.isJson) await output.print(JSON.stringify(explained));
      else {
        for (const sentence of aboutQuestion(explained)) await output.print(printable(sentence));
        if (explained.tools.length === 0) await output.print('nothing matches');
        else {
          const isByBoth = explained.basis !== 'words';
          const rows = explained.tools.map((tool) => [
            tool.name,
            tool.score.toFixed(2),
            ...(isByBoth ? [tool.words.toFixed(2), tool.meaning.toFixed(2)] : []),
            whyOf(tool),
          ]);
          const head = ['TOOL', 'SCORE', ...(isByBoth ? ['WORDS', 'MEANING'] : []), 'BECAUSE OF'];
          await output.print(`\n${await tableText(output, head, rows)}`);
        }
      }
      const isMissing = noteUnavailable(output, explained.unavailable);
      output.note(`searched ${explained.total} tools`);
      return isMissing && explained.total === 0 ? EXIT.failed : EXIT.done;
    },
    { byMeaning: true },
  );
}

/** `looked up: island (12 tools), boat (none)`, and what was not. */
function aboutQuestion({ words, ignored, coverage, basis }: ExplainedSearch): string[] {
  const known = words.map(({ word, tools }) => `${word} (${tools === 0 ? 'in no tool' : toolCount(tools)})`);
  return [
    `looked up: ${known.join(', ') || 'nothing'}`,
    ...(ignored.length === 0 ? [] : [`ignored, as words of grammar: ${ignored.join(', ')}`]),
    `known here: ${Math.round(coverage * 100)} % of the question, rare words counting more`,
    ...BASES[basis],
  ];
}

const BASES: Readonly<Record<ExplainedSearch['basis'], readonly string[]>> = {
  words: [],
  part: ['ranked by words and meaning; some tools have no vector yet'],
  first: ['ranked by words and meaning; the second part of some vectors is still to come'],
  meaning: ['ranked by words and meaning'],
};

/** `sailing 62 % (name, description); boat as its synonym ferry 38 % (upstream)`, and what naming the tool adds. */
function whyOf({ terms, named, similarity }: ExplainedTool): string {
  const reasons = terms.map(({ word, term, kind, share, fields }) => {
    const as = KINDS[kind];
    const said = as === '' ? word : `${word} as ${as} ${term}`;
    return `${said} ${Math.round(share * 100)} % (${fields.map(({ field }) => FIELDS[field]).join(', ')})`;
  });
  return [
    ...(named > 0 ? [`named in the question (+${named.toFixed(2)})`] : []),
    ...reasons,
    ...(similarity === undefined ? [] : [`similarity ${similarity.toFixed(2)}`]),
  ].join('; ');
}

const KINDS: Readonly<Record<ExplainedTool['terms'][number]['kind'], string>> = {
  word: '',
  synonym: 'its synonym',
  near: 'the similar',
  joined: 'one word',
  split: 'two words',
};

const FIELDS: Readonly<Record<ExplainedTool['terms'][number]['fields'][number]['field'], string>> = {
  name: 'name',
  title: 'title',
  server: 'server',
  lead: 'first sentence',
  rest: 'description',
  parameter: 'argument',
  parameterText: "argument's description",
  choice: "argument's choices",
};

function toolCount(tools: number): string {
  return tools === 1 ? '1 tool' : `${tools} tools`;
}
