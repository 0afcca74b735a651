import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ProxyError } from '../base/errors.ts';
import { isJsonObject } from '../base/json-value.ts';
import type { JsonObject } from '../catalog/tool.ts';
import { errorAnswer, structuredAnswer } from './answer.ts';
import type { Answer } from './answer.ts';
import type { CallContext } from './call-context.ts';
import type { AgentRequest, UpstreamDesk, UpstreamReport } from './upstream-desk.ts';

/** What no agent may say, whoever asks it to: it would start programs or carry secrets. */
const FOR_PEOPLE = ['command', 'args', 'env', 'headers', 'header', 'token', 'auth', 'cwd', 'patch'];

/** How long an answer to a question may take. */
const QUESTION_MS = 600_000;

/** The answer to a client's elicitation is only valid for the question we asked, in this process. */
const KEY = randomBytes(32);

/** The answer of `upstream_servers`; `given` is the input's names, which say more than the schema takes. */
export async function upstreamServers(
  desk: UpstreamDesk,
  request: AgentRequest,
  given: readonly string[],
  context: CallContext,
): Promise<Answer> {
  const forPeople = given.filter((name) => FOR_PEOPLE.includes(name));
  if (forPeople.length > 0) {
    return errorAnswer(
      `Not done: ${forPeople.join(' and ')} cannot be given over MCP. A person adds such a server on the command line: mcpproxy upstream_servers add --name NAME [--header 'Name: value'] [-e NAME=VALUE] (--url URL | -- COMMAND ARGS…). Servers of a registry can be named by registry and id here.`,
    );
  }
  try {
    const report = await desk.asAgent(request, context.signal);
    if (report.status !== 'needs_confirmation' || !canElicit(context.clientCapabilities))
      return answerOf(report);
    switch (replyTo(report.digest, context)) {
      case 'none':
        return question(report);
      case 'no':
        return errorAnswer('Not done: the user said no.');
      case 'yes':
        return answerOf(await desk.asAgent(request, context.signal, report.digest));
    }
  } catch (thrown) {
    if (!(thrown instanceof ProxyError)) throw thrown;
    return errorAnswer(`Not done: ${thrown.message}`, { code: thrown.code, retryable: thrown.retryable });
  }
}

function answerOf(report: UpstreamReport): Answer {
  switch (report.status) {
    case 'denied':
      return errorAnswer(`Not done: ${report.reason}`);
    case 'needs_confirmation': {
      const { digest: _digest, ...shown } = report;
      const next =
        'Nothing was done. Show the user the command and what it starts; when they have run it, search again.';
      return structuredAnswer({ ...shown, next });
    }
    case 'needs_input': {
      const { inputs, ...shown } = report;
      const next =
        'Nothing was done. Ask the user to run the command: it asks for these, secrets hidden. Never ask for secrets in the conversation.';
      return structuredAnswer({
        ...shown,
        inputs: inputs.map(({ name, place, secret, description }) => ({
          name,
          place,
          secret,
          ...(description === undefined ? {} : { description }),
        })),
        next,
      });
    }
    case 'listed':
    case 'added':
    case 'updated':
    case 'enabled':
    case 'refreshed':
    case 'restarted':
    case 'removed':
    case 'disabled':
    case 'unchanged':
    case 'logs':
      // A report of ours, made of JSON values only.
      return structuredAnswer(report as unknown as JsonObject);
  }
}

/** MCP 2026-07-28: a client that declares elicitation can put a form before the user in the middle of a call. */
function canElicit(capabilities: JsonObject | undefined): boolean {
  const { elicitation } = capabilities ?? {};
  if (!isJsonObject(elicitation)) return false;
  return 'form' in elicitation || Object.keys(elicitation).length === 0;
}

function question(report: Extract<UpstreamReport, { status: 'needs_confirmation' }>): Answer {
  const { reason, starts, command, digest } = report;
  const what = starts === undefined ? command : starts.map((word) => JSON.stringify(word)).join(' ');
  const params = {
    mode: 'form',
    message: `An agent asks for this change of your MCP servers. ${reason}\n\n${what}`,
    requestedSchema: {
      type: 'object',
      properties: { allow: { type: 'boolean', title: 'Allow it', default: false } },
      required: ['allow'],
    },
  };
  const result = {
    resultType: 'input_required',
    inputRequests: { allow: { method: 'elicitation/create', params } },
    requestState: stateOf(digest, Date.now() + QUESTION_MS),
  };
  return {
    kind: 'result',
    raw: JSON.stringify(result),
    isError: false,
    resultType: 'input_required',
    hasPlainStructuredContent: false,
  };
}

/** What the user answered to just this question, if they were asked. */
function replyTo(digest: string, { inputResponses, requestState }: CallContext): 'none' | 'yes' | 'no' {
  if (inputResponses === undefined || requestState === undefined) return 'none';
  const state: unknown = JSON.parse(requestState);
  const until = typeof state === 'string' ? Number(state.split('.')[0]) : Number.NaN;
  if (!(until > Date.now()) || !isSame(String(state), stateOf(digest, until))) return 'none';
  const responses: unknown = JSON.parse(inputResponses);
  const reply = isJsonObject(responses) ? responses['allow'] : undefined;
  const content = isJsonObject(reply) ? reply['content'] : undefined;
  const isYes =
    isJsonObject(reply) && reply['action'] === 'accept' && isJsonObject(content) && content['allow'] === true;
  return isYes ? 'yes' : 'no';
}

function stateOf(digest: string, until: number): string {
  return `${until}.${createHmac('sha256', KEY).update(`${until} ${digest}`).digest('base64url')}`;
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
