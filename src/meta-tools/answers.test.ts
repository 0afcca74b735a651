import { describe, expect, it } from 'vitest';
import { batchAnswer, errorAnswer, structuredAnswer } from './answer.ts';
import { readArguments } from './arguments.ts';
import { compactSchema } from './compact-schema.ts';
import { instructionsText } from './instructions.ts';
import { shortDescription } from './short-description.ts';

describe('short descriptions', () => {
  it('end with a sentence where one ends in reach', () => {
    const long = `Lists the open issues of a repository. ${'It also takes filters and pages through results. '.repeat(5)}`;
    const short = shortDescription(long);
    expect(short.length).toBeLessThanOrEqual(141);
    expect(short).toMatch(/^Lists the open issues of a repository\. .*\.$/);
  });

  it('are cut at a word, and say so, where none does', () => {
    const short = shortDescription('word '.repeat(60));
    expect(short.length).toBeLessThanOrEqual(141);
    expect(short.endsWith('word…')).toBe(true);
  });

  it('never cut a character in half, and drop what is not for reading', () => {
    expect(shortDescription('🙂'.repeat(200))).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
    expect(shortDescription('a\u0007b\n\tc \u{E0041}d')).toBe('a b c d');
    expect(shortDescription('搜索关键词。'.repeat(40)).endsWith('。')).toBe(true);
  });
});

describe('compact schemas', () => {
  it('leave out what says nothing, and keep every meaning', () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: 'get_stock_infoArguments',
      type: 'object',
      description: '',
      required: [],
      properties: {
        maxResults: { title: 'Max Results', type: 'integer', default: 5, description: 'How many' },
        title: { title: 'Display name', type: 'string', enum: ['', 'title'] },
        required: { type: 'array', items: { $ref: '#/$defs/Item' } },
      },
      $defs: { Item: { title: 'Item', type: 'object', properties: {}, additionalProperties: false } },
    };
    expect(compactSchema(schema)).toEqual({
      type: 'object',
      properties: {
        maxResults: { type: 'integer', default: 5, description: 'How many' },
        title: { title: 'Display name', type: 'string', enum: ['', 'title'] },
        required: { type: 'array', items: { $ref: '#/$defs/Item' } },
      },
      $defs: { Item: { type: 'object', additionalProperties: false } },
    });
  });

  it('survive any depth', () => {
    let schema: { readonly [key: string]: unknown } = { type: 'string' };
    for (let n = 0; n < 5_000; n++) schema = { items: schema };
    expect(() => compactSchema(schema)).not.toThrow();
  });
});

describe('arguments of a call', () => {
  const read = (call: string): unknown => {
    const result = readArguments(call);
    return result.kind === 'arguments' ? result.arguments.raw : result.problem;
  };

  it('are the text the client wrote, whether as an object or as a string holding one', () => {
    expect(read('{"name":"a","arguments":{ "id": 12345678901234567890 }}')).toBe(
      '{ "id": 12345678901234567890 }',
    );
    expect(read('{"name":"a","arguments":"{\\"id\\": 12345678901234567890}"}')).toBe(
      '{"id": 12345678901234567890}',
    );
  });

  it('are empty when left out, null or an empty string', () => {
    expect(read('{"name":"a"}')).toBe('{}');
    expect(read('{"name":"a","arguments":null}')).toBe('{}');
    expect(read('{"name":"a","arguments":""}')).toBe('{}');
  });

  it('say what is wrong with anything else', () => {
    expect(read('{"name":"a","arguments":[1]}')).toContain('must be an object, but is an array');
    expect(read('{"name":"a","arguments":"nonsense"}')).toContain('does not hold a JSON object');
    expect(read('{"name":"a","args":{"x":1}}')).toContain('"arguments", not in "args"');
  });
});

describe('answers', () => {
  it('say the same as text and as structured content', () => {
    const answer = structuredAnswer({ total: 1, text: 'ą "quoted"' });
    const result = JSON.parse(answer.raw) as { content: { text: string }[]; structuredContent: unknown };
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(result.structuredContent);
  });

  it('of a batch keep each result as its text came, labelled and in order', () => {
    const first = '{"content":[{"type":"text","text":"one","big":12345678901234567890}],"x_unknown":{"a":1}}';
    const second = errorAnswer('no').raw;
    const { raw, isError } = batchAnswer([
      { name: 'a', isError: false, raw: first },
      { name: 'b', isError: true, raw: second },
      { name: 'c', isError: false, raw: '{"structuredContent":7}' },
    ]);
    expect(isError).toBe(false);
    expect(raw).toContain('{"type":"text","text":"one","big":12345678901234567890}');
    expect(raw).toContain(`"results":[${first},${second},{"structuredContent":7}]`);
    const { content } = JSON.parse(raw) as { content: { text: string }[] };
    expect(content.map((block) => block.text)).toEqual(['#1 a: ok', 'one', '#2 b: failed', 'no', '#3 c: ok']);
  });

  it('of a batch are an error only when every call failed', () => {
    const failed = { name: 'a', isError: true, raw: errorAnswer('no').raw };
    expect(batchAnswer([failed, failed]).isError).toBe(true);
    expect(JSON.parse(batchAnswer([failed, failed]).raw)).toMatchObject({ isError: true });
  });
});

describe('instructions', () => {
  const options = { maxCharacters: 100, maxBatchCalls: 10 };

  it('are ours, then the one upstream’s, unchanged', () => {
    const text = instructionsText([{ upstream: 'files', text: 'Read\n  first.' }], options);
    expect(text.endsWith('\n\nRead\n  first.')).toBe(true);
    expect(text.length).toBeLessThan(600);
  });

  it('name each of several upstreams on a line of its own', () => {
    const text = instructionsText(
      [
        { upstream: 'files', text: 'A' },
        { upstream: 'my notes', text: 'B' },
      ],
      options,
    );
    expect(text.endsWith('\n\n# files\nA\n\n# my notes\nB')).toBe(true);
  });

  it('are cut with a note, never inside a character', () => {
    const text = instructionsText([{ upstream: 'x', text: '🙂'.repeat(80) }], {
      ...options,
      maxCharacters: 99,
    });
    expect(text).toContain('160 characters long; maxInstructions is 99');
    expect(text).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
  });
});
