/**
 * A model at work on questions, over the chat-completions form that most providers and local servers speak, with
 * whichever tools a side gives it. Nothing here knows a provider.
 */

/** Most times a model is asked for one question. */
const MOST_TURNS = 8;
/** How long one answer of the model may take. */
const ANSWER_MS = 120_000;

export interface Endpoint {
  /** Up to and without `/chat/completions`, such as `http://127.0.0.1:11434/v1`. */
  readonly url: string;
  readonly model: string;
  /** The bearer value; a server of your own may want none. Sent nowhere else and never printed. */
  readonly key?: string;
}

export interface AgentQuestion {
  readonly text: string;
  /** Names of the tools that are right. */
  readonly relevant: readonly string[];
}

/** One way to give a model the same tools. */
export interface Side {
  readonly name: string;
  readonly tools: readonly {
    readonly name: string;
    readonly description?: string;
    readonly inputSchema: object;
  }[];
  /** Told to the model beside the question, such as a server's instructions. */
  readonly instructions: string;
  /** Runs a call the model made. `reached`: the catalog's tools that were called by it. */
  call(name: string, input: string): Promise<{ readonly text: string; readonly reached: readonly string[] }>;
}

export interface Told {
  readonly outcome: 'right' | 'wrong' | 'none' | 'failed';
  /** How often the model was asked. */
  readonly turns: number;
  /** As the endpoint counts them, over all turns; undefined when it does not say. */
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
  /** Of `failed`: what the endpoint said, without its address. */
  readonly why?: string;
}

const SYSTEM =
  'You are given a task and tools. Do the task by calling the one tool that does it; make up plausible values for what you are not told. When no tool fits, say so.';

/**
 * Puts one question to the model until it calls a tool of the catalog, says that it is done, or has been asked
 * `MOST_TURNS` times. `right`: the first tool of the catalog it called is one of the right ones.
 */
export async function ask(endpoint: Endpoint, side: Side, question: AgentQuestion): Promise<Told> {
  const messages: object[] = [
    { role: 'system', content: side.instructions === '' ? SYSTEM : `${SYSTEM}\n\n${side.instructions}` },
    { role: 'user', content: question.text },
  ];
  const tools = side.tools.map(({ name, description = '', inputSchema }) => ({
    type: 'function',
    function: { name, description, parameters: inputSchema },
  }));
  let promptTokens: number | undefined = 0;
  let completionTokens: number | undefined = 0;
  for (let turns = 1; turns <= MOST_TURNS; turns++) {
    let reply: Reply;
    try {
      reply = await complete(endpoint, { messages, tools });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { outcome: 'failed', turns, promptTokens, completionTokens, why };
    }
    promptTokens = added(promptTokens, reply.usage?.prompt_tokens);
    completionTokens = added(completionTokens, reply.usage?.completion_tokens);
    const message = reply.choices?.[0]?.message;
    const calls = message?.tool_calls ?? [];
    if (message === undefined || calls.length === 0)
      return { outcome: 'none', turns, promptTokens, completionTokens };
    messages.push(message);
    for (const call of calls) {
      const { text, reached } = await side.call(call.function.name, call.function.arguments);
      if (reached.length > 0) {
        const isRight = reached.some((name) => question.relevant.includes(name));
        return { outcome: isRight ? 'right' : 'wrong', turns, promptTokens, completionTokens };
      }
      messages.push({ role: 'tool', tool_call_id: call.id, content: text });
    }
  }
  return { outcome: 'none', turns: MOST_TURNS, promptTokens, completionTokens };
}

interface Reply {
  readonly choices?: readonly {
    readonly message: {
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    };
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number };
}

function added(sum: number | undefined, more: number | undefined): number | undefined {
  return sum === undefined || more === undefined ? undefined : sum + more;
}

async function complete({ url, model, key }: Endpoint, body: object): Promise<Reply> {
  const response = await fetch(`${url.replace(/\/$/, '')}/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ model, ...body }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${text.slice(0, 200)}`);
  return JSON.parse(text) as Reply;
}
