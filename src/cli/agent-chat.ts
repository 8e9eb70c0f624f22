// `agent chat`: one question, or a conversation in a session.

import { parseDuration } from '../config/units.ts';
import {
  type AgentApi,
  CHAT_TIMEOUT_MS,
  chatProblems,
  type ChatRequest,
} from '../service/agent.ts';
import { errorLine, type ServiceError } from '../service/service-error.ts';
import { printAnswer } from './agent-answer.ts';
import { type AskAgent, converse } from './agent-conversation.ts';
import { AGENT_OPTIONS, OPTION_OF_FIELD, readPairs, requiredAgent } from './agent-options.ts';
import { withProgress } from './progress.ts';
import { refuseProblems } from './request-problems.ts';
import { withService } from './service-access.ts';
import { readArgs, usageError, type VerbContext } from './verb.ts';

const VERB = 'agent chat';
const TIMEOUT_MS_MAX = 900_000;
const FILTER_KEYS = ['table_filters', 'table_filter'] as const;

/** What all questions of one call have in common. */
interface ChatSettings {
  readonly request: Omit<ChatRequest, 'prompt'>;
  readonly timeoutMs: number;
  readonly isJson: boolean;
}

export function agentChat(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, {
    ...AGENT_OPTIONS,
    'session-id': { type: 'string' },
    filter: { type: 'string', multiple: true },
    'filter-key': { type: 'string' },
    timeout: { type: 'string' },
  });
  const filters = readPairs(VERB, 'filter', values.filter);
  const filterKey = readFilterKey(values['filter-key']);
  const sessionId = values['session-id'];
  const request = {
    agent_id: requiredAgent(VERB, values['agent-id']),
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    ...(filters === undefined ? {} : { config: { [filterKey]: filters } }),
  };
  const prompt = words.join(' ');
  const isConversation = words.length === 0;
  // What is typed later is checked then.
  const problems = chatProblems({ ...request, prompt: isConversation ? 'any' : prompt });
  refuseProblems(VERB, problems, OPTION_OF_FIELD);
  const isJson = values.json === true;
  const settings = { request, timeoutMs: readTimeout(values.timeout), isJson };
  return withService(VERB, values, context, async ({ client: { agent } }) =>
    isConversation
      ? await talk(agent, settings, context)
      : (await createAsk(agent, settings, context)(prompt, context.stop))
        ? 0
        : 1,
  );
}

/** A conversation in the session that is named, or in one of its own. */
async function talk(
  agent: AgentApi,
  settings: ChatSettings,
  context: VerbContext,
): Promise<number> {
  const { request } = settings;
  if (request.session_id !== undefined)
    return converse(context, createAsk(agent, settings, context));
  const { agent_id } = request;
  const creating = agent.createSession({ agent_id }, { signal: context.stop });
  const opened = await withProgress(context, 'opening a session', creating);
  if (!opened.ok) {
    context.err.line(errorLine(opened.error));
    return 1;
  }
  const { session_id } = opened.session;
  const own = { ...settings, request: { ...request, session_id } };
  const code = await converse(context, createAsk(agent, own, context));
  // Not every service has this operation, and the conversation is over either way.
  await agent.endSession(session_id);
  return code;
}

/** Asks one question and prints what came of it; true when it was answered. */
function createAsk(agent: AgentApi, settings: ChatSettings, context: VerbContext): AskAgent {
  const { request, timeoutMs, isJson } = settings;
  return async (prompt, signal) => {
    const asking = agent.chat({ ...request, prompt }, { signal, timeoutMs });
    const result = await withProgress(context, 'asking the agent', asking);
    const session = request.session_id ?? null;
    if (result.ok) return printAnswer(result.answer, { isJson, session }, context);
    context.err.line(failureText(result.error));
    return false;
  };
}

function failureText(error: ServiceError): string {
  if (error.kind === 'aborted') return 'given up: there is no answer';
  const hint = 'give it longer with --timeout; the agent may still be at work';
  return errorLine(error.kind === 'timeout' ? { ...error, hint } : error);
}

function readFilterKey(text: string = FILTER_KEYS[0]): (typeof FILTER_KEYS)[number] {
  const key = FILTER_KEYS.find(one => one === text);
  if (key !== undefined) return key;
  throw usageError(VERB, `expected --filter-key as ${FILTER_KEYS.join(' or ')}`);
}

function readTimeout(text: string | undefined): number {
  if (text === undefined) return CHAT_TIMEOUT_MS;
  const timeoutMs = parseDuration(text);
  if (timeoutMs === undefined || timeoutMs === 0 || timeoutMs > TIMEOUT_MS_MAX)
    throw usageError(VERB, 'expected --timeout as 60s, at most 15m');
  return timeoutMs;
}
