import { rawAt } from '../base/json-text.ts';
import type { Proxy } from '../app.ts';
import type { Output } from './output.ts';

/** What a meta-tool answered: its structured content, parsed and as the very text. */
export interface MetaAnswer {
  readonly raw: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** Calls a meta-tool; a refusal is printed as an error and gives undefined. */
export async function askMetaTool(
  proxy: Proxy,
  output: Output,
  name: string,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<MetaAnswer | undefined> {
  const text = await proxy.local.callMetaTool(name, args, signal);
  const result = JSON.parse(text) as { isError?: boolean; content?: unknown };
  const raw = rawAt(text, ['structuredContent']);
  if (result.isError === true || raw === undefined) {
    output.error(textOf(result.content) || `${name} gave no answer`);
    return undefined;
  }
  return { raw, content: JSON.parse(raw) as Record<string, unknown> };
}

/** The text blocks of a result's content. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content
    .filter(
      (block: { type?: unknown; text?: unknown }) => block.type === 'text' && typeof block.text === 'string',
    )
    .map((block: { text: string }) => block.text)
    .join('\n');
}

/** Says which upstreams' tools are missing; true when there are any. */
export function noteUnavailable(output: Output, unavailable: unknown): boolean {
  if (!Array.isArray(unavailable)) return false;
  for (const { name, reason } of unavailable as { name: string; reason: string }[]) {
    output.note(`mcpproxy: note: the tools of ${printable(name)} are missing: ${printable(reason)}`);
  }
  return unavailable.length > 0;
}

/** Text of others on a terminal: nothing a terminal would obey; line breaks stay. */
export function printable(text: string): string {
  return text.replaceAll(/(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '');
}
