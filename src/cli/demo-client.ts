import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { PRODUCT } from '../base/product.ts';

/** A tool definition, of which clients hand these three fields to the model. */
export interface Definition {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
}

export interface Answer {
  readonly isError: boolean;
  /** The text blocks, which is what a model reads. */
  readonly text: string;
  readonly structured: Readonly<Record<string, unknown>>;
}

/** A client of the demo: the SDK's own, over HTTP, as any client would connect. */
export interface DemoClient {
  readonly version: string;
  listTools(): Promise<readonly Definition[]>;
  call(name: string, args: Record<string, unknown>): Promise<Answer>;
  close(): Promise<void>;
}

export async function connectDemoClient(url: string): Promise<DemoClient> {
  const client = new Client(
    { name: `${PRODUCT.name}-demo`, version: PRODUCT.version },
    { versionNegotiation: { mode: 'auto' } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return {
    version: client.getNegotiatedProtocolVersion() ?? 'of an unknown version',
    listTools: async () => (await client.listTools()).tools,
    call: async (name, args) => {
      const { isError, content, structuredContent } = await client.callTool({ name, arguments: args });
      return {
        isError: isError === true,
        text: content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n'),
        structured: (structuredContent ?? {}) as Readonly<Record<string, unknown>>,
      };
    },
    close: () => client.close(),
  };
}
