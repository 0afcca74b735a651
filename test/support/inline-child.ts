/** A child given as a few lines of JavaScript, for what a script of `scriptStdio` cannot say. */
export interface InlineChild {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * A small MCP server of the older generation. `write(message)` puts its messages (JSON text, without a line end) on
 * stdout in whatever way `body` says; `tools` and `call(name, id)` may be replaced there too.
 */
export function inlineChild(body: string): InlineChild {
  const source = `
    const tool = (name) => ({ name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } });
    let tools = [tool('say')];
    let text = 'ąčę 🌊';
    let write = (message) => process.stdout.write(message + '\\n');
    let call = (id) => reply(id, { content: [{ type: 'text', text }] });
    const reply = (id, result) => write(JSON.stringify({ jsonrpc: '2.0', id, result }));
    const tell = (method, params) => write(JSON.stringify({ jsonrpc: '2.0', method, params }));
    const serve = ({ id, method, params }) => {
      if (method === 'initialize')
        reply(id, {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {}, logging: {} },
          serverInfo: { name: 'inline', version: '1' },
        });
      else if (method === 'tools/list') reply(id, { tools });
      else if (method === 'tools/call') call(id, params);
      else if (id !== undefined && method !== undefined) reply(id, {});
    };
    ${body}
    require('node:readline').createInterface({ input: process.stdin })
      .on('line', (line) => serve(JSON.parse(line)))
      .on('close', () => process.exit(0));
  `;
  return { command: process.execPath, args: ['-e', source] };
}
