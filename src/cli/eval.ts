import { readFile } from 'node:fs/promises';
import type { MeasuredSearch } from '../app.ts';
import { messageOf } from '../base/errors.ts';
import { configOf } from './context.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { noteUnavailable } from './meta-answer.ts';
import { tableText } from './table.ts';
import { withProxy } from './with-proxy.ts';

/** How well the search answers questions whose right tools are known, over the upstreams there are. */
export async function evaluate(context: Context): Promise<number> {
  const { output, line } = context;
  const file = line.flags.get('questions');
  if (file === undefined) {
    output.error(
      'eval needs --questions FILE: one question a line, {"query": "…", "relevant": ["tool_name"]}.',
    );
    return EXIT.usage;
  }
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    output.error(`--questions: ${file} cannot be read: ${messageOf(error)}`);
    return EXIT.usage;
  }
  return withProxy(
    context,
    async (proxy) => {
      const measured = await proxy.local.measure(text);
      for (const { line: number, problem } of measured.problems)
        output.error(`${file}:${number}: ${problem}`);
      if (output.isJson) await output.print(JSON.stringify(measured));
      else await printMeasured(context, measured);
      noteUnavailable(output, measured.unavailable);
      if (measured.unknown.length > 0) {
        output.note(
          `no upstream has these tools, which questions name as right: ${measured.unknown.join(', ')}`,
        );
      }
      // With `--embedder none` all are, as was asked for.
      if (measured.byWords > 0 && configOf(context).embedder.kind !== 'none')
        output.note(`${measured.byWords} questions were ranked by words, without all of the tools' meaning`);
      output.note(`asked ${measured.answers.length} questions of ${measured.total} tools`);
      return measured.problems.length > 0 || measured.answers.length === 0 ? EXIT.failed : EXIT.done;
    },
    { byMeaning: true },
  );
}

async function printMeasured({ output }: Context, { languages, answers }: MeasuredSearch): Promise<void> {
  const rows = languages.map(({ language, questions, scores }) => [
    language,
    String(questions),
    ...[scores.recall1, scores.recall5, scores.recall10, scores.mrr].map(({ mean }) => mean.toFixed(3)),
    `${scores.recall5.low.toFixed(3)} to ${scores.recall5.high.toFixed(3)}`,
  ]);
  const head = ['LANGUAGE', 'N', 'RECALL@1', '@5', '@10', 'MRR', '95 % OF @5'];
  await output.print(await tableText(output, head, rows));
  const missed = answers.filter(({ question, names }) => {
    const first = new Set(names.slice(0, 5));
    return !question.relevant.some((name) => first.has(name));
  });
  if (missed.length === 0) return;
  await output.print('\nno right tool among the first five (mcpproxy explain QUERY says why):');
  const misses = missed.map(({ question, names }) => [
    question.text,
    question.relevant.join(', '),
    names[0] ?? 'nothing',
  ]);
  await output.print(await tableText(output, ['QUESTION', 'RIGHT', 'FOUND FIRST'], misses));
}
