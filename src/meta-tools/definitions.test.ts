import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { metaToolDefinitions } from './definitions.ts';

const tokens = (value: unknown): number => encode(JSON.stringify(value)).length;

describe('meta-tool definitions', () => {
  const upstreams = [{ name: 'github', description: 'issues and pull requests' }, { name: 'files' }];
  const definitions = metaToolDefinitions({ upstreams, maxBatchCalls: 10 });

  it('cost a client at most 1,300 tokens, and a model at most 850', () => {
    expect(tokens(definitions)).toBeLessThanOrEqual(1_300);
    const forModel = definitions.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: inputSchema,
    }));
    expect(tokens(forModel)).toBeLessThanOrEqual(850);
  });

  const seven = metaToolDefinitions({ upstreams, maxBatchCalls: 10, discovery: true, manage: true });

  it('cost, all seven, a client at most 1,900 tokens, and a model at most 1,350', () => {
    expect(tokens(seven)).toBeLessThanOrEqual(1_900);
    const forModel = seven.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: inputSchema,
    }));
    expect(tokens(forModel)).toBeLessThanOrEqual(1_350);
  });

  it('hold search_servers where discovery is on, and upstream_servers where servers are managed', () => {
    expect(seven.map((d) => d.name)).toEqual([
      'call_read_tool',
      'call_read_tools',
      'call_write_tool',
      'describe_tool',
      'search_servers',
      'search_tools',
      'upstream_servers',
    ]);
    const six = metaToolDefinitions({ upstreams, maxBatchCalls: 10, discovery: true });
    expect(six.map((d) => d.name)).not.toContain('upstream_servers');
    expect(seven.find((d) => d.name === 'search_servers')?.annotations).toEqual({
      readOnlyHint: true,
      openWorldHint: true,
    });
    expect(seven.find((d) => d.name === 'upstream_servers')?.annotations).toEqual({
      readOnlyHint: false,
      destructiveHint: true,
      openWorldHint: true,
    });
  });

  it('give an agent no way to name a program, a secret or an approval', () => {
    const manage = seven.find((d) => d.name === 'upstream_servers');
    expect(Object.keys(manage?.inputSchema['properties'] as object)).toEqual([
      'operation',
      'name',
      'url',
      'registry',
      'id',
      'description',
      'enabled',
    ]);
    expect(JSON.stringify(seven)).not.toContain('"approve"');
  });

  it('are sorted, equal for equal options, and marked to be loaded at once', () => {
    expect(definitions.map((d) => d.name)).toEqual([
      'call_read_tool',
      'call_read_tools',
      'call_write_tool',
      'describe_tool',
      'search_tools',
    ]);
    expect(metaToolDefinitions({ upstreams, maxBatchCalls: 10 })).toEqual(definitions);
    for (const { _meta } of definitions) expect(_meta).toEqual({ 'anthropic/alwaysLoad': true });
  });

  it('leave the batch tool out, and unmentioned, when batches are off', () => {
    const without = metaToolDefinitions({ upstreams, maxBatchCalls: 0 });
    expect(without.map((d) => d.name)).not.toContain('call_read_tools');
    expect(JSON.stringify(without)).not.toContain('call_read_tools');
  });

  it('name what stands behind the search, in few words however many there are', () => {
    const search = (list: typeof upstreams): string =>
      metaToolDefinitions({ upstreams: list, maxBatchCalls: 10 }).find((d) => d.name === 'search_tools')
        ?.description ?? '';
    expect(search(upstreams)).toContain('Behind it: github (issues and pull requests), files.');
    const many = Array.from({ length: 300 }, (_, n) => ({ name: `server-${n}` }));
    expect(search(many)).toMatch(/server-0, .* and \d+ more\.$/);
    expect(search(many).length).toBeLessThan(900);
    expect(search([{ name: 'evil\n\u202Ename' }])).toContain('Behind it: evil name.');
  });
});
