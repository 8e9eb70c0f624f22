// `agent`: sessions with the service's agent, and questions to it, from the shell.

import { createInterface } from 'node:readline/promises';
import { parseDuration } from '../config/units.ts';
import { printableJson, printableLine, printableText } from '../lib/printable.ts';
import {
  type AgentApi,
  CHAT_TIMEOUT_MS,
  type ChatAnswer,
  chatProblems,
  type ChatRequest,
  sessionProblems,
} from '../service/agent-api.ts';
import { errorLine, type ServiceError } from '../service/service-error.ts';
import { rowsOf } from './logs.ts';
import { withProgress } from './progress.ts';
import { ACCESS_HELP, ACCESS_OPTIONS, withService, refuseProblems } from './service-access.ts';
import { renderTable } from './table.ts';
import {
  type Action,
  readArgs,
  readOptions,
  runAction,
  usageError,
  type Verb,
  type VerbContext,
} from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  session: agentSession,
  chat: agentChat,
};

export const verb: Verb = {
  summary: "the service's agent: agent session create | chat",
  help: `
Usage: prom2otlp agent session create --agent-id UUID [options]
       prom2otlp agent chat --agent-id UUID [options] [PROMPT]

  ${ACCESS_HELP}
  --agent-id UUID    the agent
  --json             JSON instead of text and tables

session create       opens a session, in which questions keep their context
  --metadata KEY=VALUE        stored with the session, such as user_id=u1; may be repeated
chat                 asks the agent PROMPT, or the lines typed until exit or Ctrl-D. Ctrl-C abandons a question
  --session-id ID             asks within this session. Without it, PROMPT has no session; a conversation
                              opens its own session and ends it
  --filter TABLE='WHERE …'    a condition that the service applies to every query on the table; may be repeated
  --filter-key table_filter   the other spelling of the filters' key; table_filters when absent
  --timeout 60s               how long to wait for an answer

The program never repeats a question. Answers have the agent's SQL and its rows.

Exit: 0 if done, 1 if there is no answer, 2 for a mistake on the command line.

Examples:
  prom2otlp agent chat --config /etc/prom2otlp.yaml --agent-id 6f1c…-4b2a 'Which ten tables grow fastest?'
  prom2otlp agent chat --config /etc/prom2otlp.yaml --agent-id 6f1c…-4b2a --filter orders="WHERE region = 'north'"
  PROM2OTLP_API_KEY=… prom2otlp agent session create --base-url https://api.example.com --agent-id 6f1c…-4b2a`,
  run: context => runAction('agent', ACTIONS, context),
};

// What the actions of `agent` have in common on the command line: options and pairs.

/** What every action takes. */
const AGENT_OPTIONS = {
  ...ACCESS_OPTIONS,
  'agent-id': { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** The agent's id, which every action needs; whether it is a UUID is checked with the request. */
function requiredAgent(verb: string, id: string | undefined): string {
  if (id === undefined) throw usageError(verb, 'expected --agent-id UUID');
  return id;
}

/** `KEY=VALUE` texts as an object; undefined where there are none. Everything after the first `=` is the value. */
function readPairs(
  verb: string,
  option: string,
  texts: readonly string[] = [],
): Readonly<Record<string, string>> | undefined {
  if (texts.length === 0) return undefined;
  const pairs = new Map<string, string>();
  for (const text of texts) {
    const [key, value] = splitAtFirst(text, '=');
    if (value === undefined || key.trim() === '' || value.trim() === '')
      throw usageError(verb, `expected --${option} as NAME=VALUE, got ${JSON.stringify(text)}`);
    if (pairs.has(key)) throw usageError(verb, `--${option} has ${JSON.stringify(key)} twice`);
    pairs.set(key, value);
  }
  return Object.fromEntries(pairs);
}

/** The options that give the fields of a request. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  agent_id: '--agent-id',
  session_id: '--session-id',
  metadata: '--metadata',
  config: '--filter',
  prompt: 'PROMPT',
};

function splitAtFirst(text: string, mark: string): readonly [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

// `agent session create`: opens a session and prints its id.

const SESSION_CREATE = 'agent session create';

function agentSession(context: VerbContext): Promise<number> {
  const [word, ...args] = context.args;
  if (word !== 'create') throw usageError('agent', 'expected agent session create');
  const values = readOptions(SESSION_CREATE, args, {
    ...AGENT_OPTIONS,
    metadata: { type: 'string', multiple: true },
  });
  const agent_id = requiredAgent(SESSION_CREATE, values['agent-id']);
  const metadata = readPairs(SESSION_CREATE, 'metadata', values.metadata);
  const request = { agent_id, ...(metadata === undefined ? {} : { metadata }) };
  refuseProblems(SESSION_CREATE, sessionProblems(request), OPTION_OF_FIELD);
  return withService(SESSION_CREATE, values, context, async ({ client }) => {
    const creating = client.agent.createSession(request, { signal: context.stop });
    const result = await withProgress(context, 'opening the session', creating);
    if (!result.ok) {
      context.err.line(errorLine(result.error));
      return 1;
    }
    const { session_id, agent_id: agent = '', created_at: created = '' } = result.session;
    if (values.json === true) context.out.line(printableJson(result.session));
    else
      context.out.line(
        renderTable([
          ['SESSION', 'AGENT', 'CREATED'],
          [session_id, agent, created],
        ]),
      );
    return 0;
  });
}

// `agent chat`: one question, or a conversation in a session.

const CHAT = 'agent chat';
const TIMEOUT_MS_MAX = 900_000;
const FILTER_KEYS = ['table_filters', 'table_filter'] as const;

/** What all questions of one call have in common. */
interface ChatSettings {
  readonly request: Omit<ChatRequest, 'prompt'>;
  readonly timeoutMs: number;
  readonly isJson: boolean;
}

function agentChat(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(CHAT, context.args, {
    ...AGENT_OPTIONS,
    'session-id': { type: 'string' },
    filter: { type: 'string', multiple: true },
    'filter-key': { type: 'string' },
    timeout: { type: 'string' },
  });
  const filters = readPairs(CHAT, 'filter', values.filter);
  const filterKey = readFilterKey(values['filter-key']);
  const sessionId = values['session-id'];
  const request = {
    agent_id: requiredAgent(CHAT, values['agent-id']),
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    ...(filters === undefined ? {} : { config: { [filterKey]: filters } }),
  };
  const prompt = words.join(' ');
  const isConversation = words.length === 0;
  // What is typed later is checked then.
  const problems = chatProblems({ ...request, prompt: isConversation ? 'any' : prompt });
  refuseProblems(CHAT, problems, OPTION_OF_FIELD);
  const isJson = values.json === true;
  const settings = { request, timeoutMs: readTimeout(values.timeout), isJson };
  return withService(CHAT, values, context, async ({ client: { agent } }) =>
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
  const hint = 'allow more time with --timeout; the agent may still be working';
  return errorLine(error.kind === 'timeout' ? { ...error, hint } : error);
}

function readFilterKey(text: string = FILTER_KEYS[0]): (typeof FILTER_KEYS)[number] {
  const key = FILTER_KEYS.find(one => one === text);
  if (key !== undefined) return key;
  throw usageError(CHAT, `expected --filter-key as ${FILTER_KEYS.join(' or ')}`);
}

function readTimeout(text: string | undefined): number {
  if (text === undefined) return CHAT_TIMEOUT_MS;
  const timeoutMs = parseDuration(text);
  if (timeoutMs === undefined || timeoutMs === 0 || timeoutMs > TIMEOUT_MS_MAX)
    throw usageError(CHAT, 'expected --timeout as 60s, at most 15m');
  return timeoutMs;
}

// A conversation: reads questions line by line and has each one answered, until `exit`, Ctrl-D, or Ctrl-C at the prompt.
// Ctrl-C while a question is running gives that question up; whatever a question comes to, the next one can be
// asked. Input that is no terminal is read in the same way, without a prompt: one question per line.

/** Asks one question and prints what came of it; true when it was answered. */
type AskAgent = (prompt: string, signal: AbortSignal) => Promise<boolean>;

const PROMPT = '> ';
const END_WORDS: ReadonlySet<string> = new Set(['exit', 'quit']);

/** Returns the exit code: from a terminal 0; else 1 when a question was not answered. */
async function converse(
  { terminal, err }: Pick<VerbContext, 'terminal' | 'err'>,
  ask: AskAgent,
): Promise<number> {
  const { input, screen } = terminal;
  const isTerminal = input.isTTY === true && screen.isTTY === true;
  const lines = createInterface({
    input,
    ...(isTerminal ? { output: screen } : {}),
    terminal: isTerminal,
    prompt: PROMPT,
  });
  if (isTerminal) err.line('Ask the agent; exit or Ctrl-D ends, Ctrl-C gives a question up.');
  let running: AbortController | null = null;
  let failedCount = 0;
  let isClosed = false;
  lines.on('close', () => (isClosed = true));
  lines.on('SIGINT', () => {
    if (running === null) lines.close();
    else running.abort();
  });
  if (isTerminal) lines.prompt();
  // The interface goes on reading while a question runs: that is how Ctrl-C arrives.
  for await (const line of lines) {
    const question = line.trim();
    if (END_WORDS.has(question)) break;
    if (question !== '') {
      running = new AbortController();
      if (!(await ask(question, running.signal))) failedCount++;
      running = null;
    }
    if (isTerminal && !isClosed) lines.prompt();
  }
  lines.close();
  if (isTerminal) screen.write('\n');
  return isTerminal || failedCount === 0 ? 0 : 1;
}

// An answer of the agent for people: its words, its SQL, the rows. All of it is foreign text: control characters never
// reach the terminal.

interface AnswerOptions {
  readonly isJson: boolean;
  /** The session that was asked in; null where there was none. */
  readonly session: string | null;
}

/** Prints an answer; true when the agent did answer. */
function printAnswer(
  answer: ChatAnswer,
  { isJson, session }: AnswerOptions,
  { out, err }: Pick<VerbContext, 'out' | 'err'>,
): boolean {
  const { response, sql, data, columns, failure } = answer;
  if (isJson) out.line(printableJson(answer));
  else {
    const parts = [
      response === '' ? '' : printableText(response),
      sql === null ? '' : `SQL: ${printableText(sql)}`,
      data.length === 0 ? '' : renderTable(rowsOf(inOrder(data, columns)), { width: out.columns }),
    ].filter(part => part !== '');
    if (parts.length > 0) out.line(parts.join('\n\n'));
  }
  if (session !== null && answer.session_id !== null && answer.session_id !== session)
    err.line(`the answer names another session: ${printableLine(answer.session_id)}`);
  if (failure !== null)
    err.line(`the agent could not answer: ${printableLine(failure)}; put the question differently`);
  return failure === null;
}

/** Rows with their members in the order of the columns; members without a column come last. */
function inOrder(
  data: ChatAnswer['data'],
  columns: readonly string[],
): readonly Readonly<Record<string, unknown>>[] {
  const head = Object.fromEntries(columns.map(column => [column, undefined]));
  return columns.length === 0 ? data : data.map(row => ({ ...head, ...row }));
}
