import type { Definition, DemoClient } from './demo-client.ts';

/** What definitions and search answers weigh, in estimated tokens. */
export interface Receipt {
  readonly allTools: number;
  readonly ourTools: number;
  readonly searches: number;
}

/** Most names one describe_tool takes. */
const BATCH = 10;

/**
 * Weighs the definitions of all tools behind the proxy, as a client would load them, against the proxy's own. What
 * is counted is what clients hand to a model: name, description, input schema. Four characters make about a token.
 */
export async function receiptOf(
  client: DemoClient,
  names: readonly string[],
  shown: readonly Definition[],
  searchCharacters: number,
): Promise<Receipt> {
  const all: Definition[] = [];
  for (let at = 0; at < names.length; at += BATCH) {
    const { structured } = await client.call('describe_tool', { names: names.slice(at, at + BATCH) });
    all.push(...(structured['tools'] as Definition[]));
  }
  if (all.length !== names.length)
    throw new Error(`only ${all.length} of ${names.length} tools could be described.`);
  return { allTools: tokensOf(all), ourTools: tokensOf(shown), searches: Math.round(searchCharacters / 4) };
}

function tokensOf(definitions: readonly Definition[]): number {
  const characters = definitions
    .map(
      ({ name, description, inputSchema }) =>
        JSON.stringify({ name, description, input_schema: inputSchema }).length,
    )
    .reduce((sum, length) => sum + length, 0);
  return Math.round(characters / 4);
}
