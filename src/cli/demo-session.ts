import type { Answer, DemoClient } from './demo-client.ts';
import { firstSentence } from './table.ts';
import type { Transcript } from './transcript.ts';

export interface Match {
  readonly name: string;
  readonly description: string;
  readonly readOnly: boolean;
}

/** What the script does in the model's place: each call is shown as sent, each answer as it came. */
export class DemoSession {
  readonly #say: Transcript;
  readonly #client: DemoClient;
  #searchCharacters = 0;

  constructor(say: Transcript, client: DemoClient) {
    this.#say = say;
    this.#client = client;
  }

  /** How much text all searches so far have given the model. */
  get searchCharacters(): number {
    return this.#searchCharacters;
  }

  /** Every match, over all queries. */
  async search(args: Record<string, unknown>): Promise<Match[]> {
    await this.#say.sent('search_tools', args);
    const { isError, text, structured } = await this.#client.call('search_tools', args);
    if (isError) throw new Error(`search_tools refused: ${text}`);
    this.#searchCharacters += text.length;
    const results = (structured['results'] ?? [structured]) as readonly { query?: string; tools: Match[] }[];
    for (const { query, tools } of results) {
      if (query !== undefined) await this.#say.line(`“${query}”`);
      for (const tool of tools) {
        const access = tool.readOnly ? 'reads ' : 'writes';
        await this.#say.line(`← ${tool.name.padEnd(32)} ${access}  ${firstSentence(tool.description)}`);
      }
    }
    return results.flatMap(({ tools }) => tools);
  }

  /**
   * A question in a language that no tool is described in. Undefined where there is no model to understand it, which
   * is said.
   */
  async searchInAnotherLanguage(query: string): Promise<Match[] | undefined> {
    const args = { query, limit: 3, schemas: false };
    const { structured } = await this.#client.call('search_tools', args);
    if (structured['ranking'] === 'words') {
      await this.#say.line('(No embedding model is installed here: words alone cannot answer that.)');
      return undefined;
    }
    return this.search(args);
  }

  /** Calls one tool through the meta-tool; gives the text of its result. */
  async call(
    metaTool: string,
    name: string,
    args: Record<string, unknown>,
    maxLines: number,
  ): Promise<string> {
    const { isError, text } = await this.#send(metaTool, name, args, maxLines);
    if (isError) throw new Error(`${name} was expected to succeed.`);
    return text;
  }

  /** A call that must not reach the tool. */
  async refused(
    metaTool: string,
    name: string,
    args: Record<string, unknown>,
    maxLines: number,
  ): Promise<void> {
    const { isError } = await this.#send(metaTool, name, args, maxLines);
    if (!isError) throw new Error(`${metaTool} was expected to refuse ${name}.`);
  }

  async #send(
    metaTool: string,
    name: string,
    args: Record<string, unknown>,
    maxLines: number,
  ): Promise<Answer> {
    await this.#say.sent(metaTool, { name, arguments: args });
    const answer = await this.#client.call(metaTool, { name, arguments: args });
    await this.#say.got(answer.text, maxLines);
    return answer;
  }
}

/** The best match that is one of these tools of its server; a search that did not find any is a failed demo. */
export function firstOf(matches: readonly Match[], ...ownNames: readonly string[]): string {
  const match = matches.find(({ name }) => ownNames.some((own) => name === own || name.endsWith(`__${own}`)));
  if (match === undefined) throw new Error(`the search found none of ${ownNames.join(', ')}.`);
  return match.name;
}
