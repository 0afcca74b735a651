import { expect, test } from 'vitest';
import { measureAnswer, readQuestionsFile } from './questions-file.ts';

test('reads one question a line, with defaults', () => {
  const { questions, problems } = readQuestionsFile(`# ours
{"query": "send it", "relevant": "send_mail"}

{"id": "x", "query": "siųsk", "lang": "lt", "relevant": ["send_mail", "post"]}
`);
  expect(problems).toEqual([]);
  expect(questions).toEqual([
    { id: '2', text: 'send it', language: 'en', relevant: ['send_mail'] },
    { id: 'x', text: 'siųsk', language: 'lt', relevant: ['send_mail', 'post'] },
  ]);
});

test('names every line it cannot read, and reads the others', () => {
  const { questions, problems } = readQuestionsFile(
    [
      '{',
      '[]',
      '3',
      '{"query": " "}',
      '{"query": "a"}',
      '{"query": "a", "relevant": []}',
      '{"query": "b", "relevant": ["t"]}',
    ].join('\n'),
  );
  expect(questions.map(({ text }) => text)).toEqual(['b']);
  expect(problems.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(problems[0]!.problem).toBe('is not JSON');
  expect(problems[4]!.problem).toContain('`relevant`');
});

test('notes where the right tools stood', () => {
  const question = { id: 'q', text: 't', language: 'en', relevant: ['a', 'b', 'c'] };
  expect(measureAnswer(question, ['x', 'b', 'a'])).toEqual({
    id: 'q',
    language: 'en',
    relevant: 3,
    ranks: [1, 2],
  });
});
