import { SAMPLE_SERVERS } from '../../src/cli/builtin/sample-servers.ts';

/** How many tools the sample catalog has. */
export const SAMPLE_TOOLS = SAMPLE_SERVERS.reduce((sum, { tools }) => sum + tools.length, 0);

/** What the pages' examples are taken from: real runs of what is documented. */
export interface Try {
  /** Calls a meta-tool of a proxy in front of the sample catalog. */
  meta(metaTool: string, args: Readonly<Record<string, unknown>>): Promise<TriedResult>;
  /** The same in front of a server whose tools fail, `reject` and `vanish`, and one that cannot be started. */
  inTrouble(metaTool: string, args: Readonly<Record<string, unknown>>): Promise<TriedResult>;
  /** Runs the program in an empty folder, with this as `mcpproxy.json` when it is given. */
  program(args: readonly string[], file?: string): Promise<TriedRun>;
}

export interface TriedResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}

export interface TriedRun {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

export const textOf = ({ content }: TriedResult): string => content.map(({ text }) => text ?? '').join('\n');
