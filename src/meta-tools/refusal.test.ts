import { describe, expect, it } from 'vitest';
import { buildCatalog } from '../catalog/catalog.ts';
import type { Tool } from '../catalog/tool.ts';
import type { Unavailable, View } from '../callers/view.ts';
import { createDocumentPool } from '../search/index.ts';
import { readArguments } from './arguments.ts';
import { RESERVED_NAMES } from './definitions.ts';
import { decide } from './refusal.ts';
import type { Decision } from './refusal.ts';
import { createArgumentValidator } from './validator.ts';

const validate = createArgumentValidator({ maxSchemaBytes: 10_000, validationMs: 200 });

function tool(name: string, readOnlyHint: boolean): Tool {
  const inputSchema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
  return { name, description: '', inputSchema, annotations: { readOnlyHint }, digest: name };
}

function viewOf(unavailable: readonly Unavailable[] = []): View {
  const tools = [tool('get_issue', true), tool('close_issue', false)];
  return {
    catalog: buildCatalog([{ upstream: 'hub', slug: 'hub', trusted: true, tools }], {
      prefixed: true,
      writeTools: [],
      reservedNames: RESERVED_NAMES,
    }),
    index: createDocumentPool().openView([]),
    search: () => ({ tools: [], basis: 'words' }),
    questionVectors: () => Promise.resolve([]),
    unavailable,
    instructions: [],
    dropped: [],
    route: () => {
      throw new Error('nothing is sent here');
    },
  };
}

function decision(call: object, readsOnly: boolean, view = viewOf()): Promise<Decision> {
  const text = JSON.stringify(call);
  return decide(
    view,
    { name: (call as { name: string }).name, arguments: readArguments(text), readsOnly },
    validate,
  );
}

async function words(call: object, readsOnly = true, view = viewOf()): Promise<string> {
  const decided = await decision(call, readsOnly, view);
  return decided.kind === 'refused' ? decided.text : 'called';
}

describe('a call', () => {
  it('is sent when the tool reads and its arguments fit, as they were written', async () => {
    const decided = await decision({ name: 'get_issue', arguments: { id: 7 } }, true);
    expect(decided).toMatchObject({
      kind: 'call',
      tool: { exposedName: 'hub__get_issue' },
      arguments: { raw: '{"id":7}' },
    });
    expect(await words({ name: 'hub__close_issue', arguments: { id: 7 } }, false)).toBe('called');
  });

  it('of a write through a reading tool is refused, naming the tool for it', async () => {
    expect(await words({ name: 'hub__close_issue', arguments: { id: 7 } })).toContain(
      'Call it with call_write_tool',
    );
  });

  it('whose arguments do not fit is refused with every problem and the schema', async () => {
    const text = await words({ name: 'get_issue', arguments: { id: 'x' } });
    expect(text).toContain("the arguments do not fit 'hub__get_issue'.\n- /id must be integer\n");
    expect(text).toContain('"required":["id"]');
    expect(await words({ name: 'get_issue', arguments: [1] })).toContain(
      'must be an object, but is an array',
    );
  });

  it('of a clear typo is refused with the right name and its schema', async () => {
    const text = await words({ name: 'get_isue', arguments: { id: 7 } });
    expect(text).toContain("Did you mean 'hub__get_issue'?");
    expect(text).toContain('"required":["id"]');
  });

  it('of an unknown tool is refused, naming what is near, what is missing, and the search', async () => {
    const gone: Unavailable = { name: 'mail', state: 'failed', reason: 'connection refused' };
    const text = await words({ name: 'send_mail' }, true, viewOf([gone]));
    expect(text).toContain('missing right now: mail (connection refused)');
    expect(text).toContain('search_tools');
    expect(await words({ name: 'constructor' })).toContain("there is no tool 'constructor'");
  });

  it('of one of our own tools through another is refused', async () => {
    expect(await words({ name: 'search_tools', arguments: {} })).toContain('Call it directly');
  });
});
