import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { sampleAnswer } from './sample-answer.ts';
import { SAMPLE_SERVERS } from './sample-servers.ts';
import { definitionOf } from './tool.ts';
import type { SampleTool } from './tool.ts';

const TOOLS = SAMPLE_SERVERS.flatMap((server) => server.tools.map((tool) => ({ server, tool })));

describe('the sample catalog', () => {
  it('is several hundred tools, each named once', () => {
    expect(SAMPLE_SERVERS.length).toBe(13);
    expect(TOOLS.length).toBe(312);
    expect(new Set(TOOLS.map(({ tool }) => tool.name)).size).toBe(TOOLS.length);
    expect(new Set(TOOLS.map(({ tool }) => tool.description)).size).toBe(TOOLS.length);
  });

  it('has reads and writes in every server', () => {
    for (const { name, tools } of SAMPLE_SERVERS) {
      expect(tools.filter(({ isReadOnly }) => isReadOnly).length, name).toBeGreaterThan(5);
      expect(tools.filter(({ isReadOnly }) => !isReadOnly).length, name).toBeGreaterThan(5);
    }
  });

  it('has definitions a strict client takes', () => {
    const ajv = new Ajv2020();
    for (const { tool } of TOOLS) {
      const { name, description, inputSchema } = definitionOf(tool) as {
        name: string;
        description: string;
        inputSchema: { properties: Record<string, { description: string }>; required?: string[] };
      };
      expect(name).toMatch(/^[a-z][a-z0-9_]{2,40}$/);
      expect(description, name).toMatch(/^[A-Z].{15,200}\.$/);
      expect(ajv.validateSchema(inputSchema), name).toBe(true);
      for (const property of Object.values(inputSchema.properties))
        expect(property.description, name).not.toBe('');
    }
  });
});

describe('an answer', () => {
  const library = SAMPLE_SERVERS.find(({ name }) => name === 'library')!;
  const toolOf = (name: string): SampleTool => library.tools.find((tool) => tool.name === name)!;

  it('is made of the arguments, and is the same for the same call', () => {
    const renew = toolOf('renew_loan');
    const answer = sampleAnswer(library, renew, { loan_id: 'L-7' });
    expect(answer).toEqual({
      loan_id: 'L-7',
      due_on: expect.stringMatching(/^2031-\d\d-\d\d$/),
      renewal_count: expect.any(Number),
    });
    expect(sampleAnswer(library, renew, { loan_id: 'L-7' })).toEqual(answer);
    expect(sampleAnswer(library, renew, { loan_id: 'L-8' })['due_on']).not.toBe(answer['due_on']);
  });

  it('is a list where the tool finds several things', () => {
    const { books } = sampleAnswer(library, toolOf('find_books'), { query: 'salt' }) as { books: object[] };
    expect(books).toHaveLength(3);
    for (const book of books) expect(Object.keys(book)).toEqual(['title', 'author', 'shelf', 'copies_free']);
  });

  it('has nothing empty in it, whatever is called', () => {
    for (const { server, tool } of TOOLS) {
      const text = JSON.stringify(sampleAnswer(server, tool, {}));
      expect(text, tool.name).not.toMatch(/null|undefined|NaN|""/);
    }
  });
});
