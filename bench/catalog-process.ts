import { createInterface } from 'node:readline';
import { benchCatalog, RECORD } from './catalog.ts';

/**
 * The benchmarks' catalog as one MCP server over stdio: `node catalog-process.js COUNT mixed|asked`. Every call is
 * answered with the same record, so that what differs between two ways to it is the way.
 */
const [count = '1', among = 'mixed'] = process.argv.slice(2);
const tools = benchCatalog(Number(count), among === 'asked' ? 'asked' : 'mixed');

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method } = JSON.parse(line) as { readonly id?: unknown; readonly method: string };
    if (id === undefined) return;
    const result = resultOf(method);
    const outcome =
      result === undefined ? { error: { code: -32_601, message: 'Method not found' } } : { result };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
  })
  .on('close', () => process.exit(0));

function resultOf(method: string): object | undefined {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'catalog', version: '1' },
      };
    case 'tools/list':
      return { tools };
    case 'tools/call':
      return { content: [{ type: 'text', text: JSON.stringify(RECORD) }] };
    default:
      return undefined;
  }
}
