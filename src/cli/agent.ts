// `agent`: lists the service's agents, opens sessions with one and asks it questions.

import { on } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { printableLine, printableText } from '../lib/printable.ts';
import {
  type Agent,
  type AgentApi,
  CHAT_TIMEOUT_MS,
  type ChatAnswer,
  chatProblems,
  type ChatRequest,
  type Session,
  sessionProblems,
} from '../service/agent-api.ts';
import { rowsOf } from './logs.ts';
import { withProgress } from './output.ts';
import {
  ACCESS_OPTIONS,
  FORMAT_OPTION,
  namedError,
  type OpenService,
  printJson,
  printListing,
  printOne,
  refuseProblems,
  SHOW_OPTIONS,
  tellError,
  tellNone,
  withService,
} from './service-access.ts';
import { renderTable, type Rows } from './table.ts';
import { choice, duration, repeated, required, text, withDefault, type Format } from './options.ts';
import { action, type Call, usageError, type Verb, type VerbContext } from './verb.ts';

const TIMEOUT_MS_MAX = 900_000;

const AGENT_OPTIONS = {
  ...ACCESS_OPTIONS,
  'agent-id': required(text('UUID', 'the agent (see agent list)')),
  format: FORMAT_OPTION,
};
const SESSION_OPTIONS = {
  ...AGENT_OPTIONS,
  metadata: repeated('NAME=VALUE', 'stored with the session, such as user_id=u1'),
};
const CHAT_OPTIONS = {
  ...AGENT_OPTIONS,
  'session-id': text(
    'ID',
    `asks within this session. Without it, PROMPT has no session; a conversation opens its own session and ends it`,
  ),
  filter: repeated(
    'TABLE=WHERE',
    `a condition that the service applies to every query on the table, as orders="WHERE region = 'north'"`,
  ),
  'filter-key': withDefault(
    choice(['table_filters', 'table_filter'], `the spelling of the filters' key`),
    'table_filters',
  ),
  timeout: duration('how long to wait for an answer, at most 15m (default: 60s)', TIMEOUT_MS_MAX),
};

export const verb: Verb = {
  name: 'agent',
  summary: "the service's agent",
  about: `The program never repeats a question. Answers have the agent's SQL and its rows.`,
  actions: [
    action({
      name: 'list',
      summary: 'the agents, with the ids that the other actions need',
      about: 'The path was observed at deployments; a service without it answers 404.',
      options: SHOW_OPTIONS,
      run: agentList,
    }),
    action({
      name: 'session create',
      summary: 'opens a session, in which questions keep their context',
      options: SESSION_OPTIONS,
      run: agentSession,
    }),
    action({
      name: 'chat',
      summary: 'asks the agent one question, or the lines typed until exit or Ctrl-D',
      about: 'Ctrl-C abandons a question.',
      words: {
        value: 'PROMPT',
        about: 'the question; without it, each line of standard input is one',
        count: 'any',
      },
      options: CHAT_OPTIONS,
      run: agentChat,
    }),
  ],
  exits: { 0: 'done', 1: 'there is no answer', 2: 'a mistake on the command line' },
  examples: [
    'prom2otlp agent list --config /etc/prom2otlp/prom2otlp.yaml',
    `prom2otlp agent chat --config /etc/prom2otlp/prom2otlp.yaml --agent-id 6f1c0de5-1b2c-4d3e-8f90-a1b2c3d44b2a 'Which ten tables grow fastest?'`,
    `prom2otlp agent chat --config /etc/prom2otlp/prom2otlp.yaml --agent-id 6f1c0de5-1b2c-4d3e-8f90-a1b2c3d44b2a --filter orders="WHERE region = 'north'"`,
    'PROM2OTLP_API_KEY=… prom2otlp agent session create --base-url https://api.example.com --agent-id 6f1c0de5-1b2c-4d3e-8f90-a1b2c3d44b2a',
  ],
  isStoppable: true,
};

/** `KEY=VALUE` texts as an object; undefined where there are none. Everything after the first `=` is the value. */
function readPairs(
  command: string,
  option: string,
  form: string,
  texts: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (texts.length === 0) return undefined;
  const pairs = new Map<string, string>();
  for (const text of texts) {
    const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    if (key.trim() === '' || value.trim() === '')
      throw usageError(command, `expected --${option} as ${form}, got ${JSON.stringify(text)}`);
    if (pairs.has(key)) throw usageError(command, `--${option} has ${JSON.stringify(key)} twice`);
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

// `agent list`: the agents that the key can see.

function agentList(call: Call<typeof SHOW_OPTIONS>, context: VerbContext): Promise<number> {
  const read = async ({ client }: OpenService): Promise<readonly Agent[] | null> => {
    const list = client.agent.list({ signal: context.stop });
    const result = await withProgress(context, 'reading the agents', list);
    if (!result.ok) return tellNone(context, result.error);
    if (!result.isComplete) context.err.line('the list is not whole: there may be more agents');
    return result.agents;
  };
  const rows = (agents: readonly Agent[]): Rows => [
    ['AGENT', 'NAME', 'DESCRIPTION', 'CREATED'],
    ...agents.map(one => [
      one.agent_id,
      one.name ?? '',
      one.description ?? '',
      one.created_at ?? '',
    ]),
  ];
  return printListing(call, context, { read, rows, empty: 'no agents' });
}

// `agent session create`: opens a session and prints its id.

function agentSession(call: Call<typeof SESSION_OPTIONS>, context: VerbContext): Promise<number> {
  const { command, values } = call;
  const metadata = readPairs(command, 'metadata', 'NAME=VALUE', values.metadata);
  const request = { agent_id: values['agent-id'], ...(metadata !== undefined && { metadata }) };
  refuseProblems(command, sessionProblems(request), OPTION_OF_FIELD);
  return withService(call, context, async ({ client }) => {
    const creating = client.agent.createSession(request, { signal: context.stop });
    const result = await withProgress(context, 'opening the session', creating);
    if (!result.ok) return tellError(context, result.error);
    const rows = (sessions: readonly Session[]): Rows => [
      ['SESSION', 'AGENT', 'CREATED'],
      ...sessions.map(one => [one.session_id, one.agent_id ?? '', one.created_at ?? '']),
    ];
    return printOne(values, context, result.session, rows, ['session_id']);
  });
}

// `agent chat`: one question, or a conversation in a session.

interface ChatSettings {
  readonly request: Omit<ChatRequest, 'prompt'>;
  readonly timeoutMs: number;
  readonly format: Format;
}

function agentChat(call: Call<typeof CHAT_OPTIONS>, context: VerbContext): Promise<number> {
  const { command, values, words } = call;
  const { 'session-id': sessionId, 'filter-key': filterKey } = values;
  const filters = readPairs(command, 'filter', 'TABLE=WHERE', values.filter);
  const request = {
    agent_id: values['agent-id'],
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    ...(filters === undefined ? {} : { config: { [filterKey]: filters } }),
  };
  const prompt = words.join(' ');
  const isConversation = words.length === 0;
  // Questions of a conversation are checked when they are typed.
  const problems = chatProblems({ ...request, prompt: isConversation ? 'any' : prompt });
  refuseProblems(command, problems, OPTION_OF_FIELD);
  const { timeout: timeoutMs = CHAT_TIMEOUT_MS, format } = values;
  const settings = { request, timeoutMs, format };
  return withService(call, context, async ({ client: { agent } }) =>
    isConversation
      ? await talk(agent, settings, context)
      : (await createAsk(agent, settings, context)(prompt, context.stop))
        ? 0
        : 1,
  );
}

/** Holds a conversation in the named session, or in a session that it opens and ends itself. */
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
  if (!opened.ok) return tellError(context, opened.error);
  const { session_id } = opened.session;
  const own = { ...settings, request: { ...request, session_id } };
  const code = await converse(context, createAsk(agent, own, context));
  // A failure is ignored: not every service can end a session, and the conversation is over.
  await agent.endSession(session_id, { signal: context.stopNow });
  return code;
}

function createAsk(agent: AgentApi, settings: ChatSettings, context: VerbContext): AskAgent {
  const { request, timeoutMs } = settings;
  return async (prompt, signal) => {
    const asking = agent.chat({ ...request, prompt }, { signal, timeoutMs });
    const result = await withProgress(context, 'asking the agent', asking);
    if (result.ok) return printAnswer(result.answer, settings, context);
    const { error } = result;
    const hint = 'allow more time with --timeout; the agent may still be working';
    const check = `check --agent-id${request.session_id === undefined ? '' : ' and --session-id'}`;
    if (error.kind === 'aborted') context.err.line('given up: there is no answer');
    else
      tellError(context, error.kind === 'timeout' ? { ...error, hint } : namedError(error, check));
    return false;
  };
}

// A conversation reads one question per line and prints its answer, until `exit`, Ctrl-D, or Ctrl-C at the prompt. Ctrl-C
// while a question runs abandons that question. A failed question does not end the conversation. Input from a pipe works
// the same way, without a prompt. A signal, or a terminal that is closed, gives the question up and ends the conversation.

/** Asks one question and prints the answer or the error; true when it was answered. */
type AskAgent = (prompt: string, signal: AbortSignal) => Promise<boolean>;

const PROMPT = '> ';
const END_WORDS: ReadonlySet<string> = new Set(['exit', 'quit']);

/** Returns the exit code: from a terminal 0; else 1 when a question was not answered. */
async function converse(
  { terminal, out, err, stop }: Pick<VerbContext, 'terminal' | 'out' | 'err' | 'stop'>,
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
  const ended = new AbortController();
  const end = (): void => {
    running?.abort();
    ended.abort();
  };
  stop.addEventListener('abort', end);
  // Reading from a terminal that was closed fails.
  input.on('error', end);
  if (stop.aborted) end();
  else if (isTerminal) lines.prompt();
  try {
    // The interface goes on reading while a question runs: that is how Ctrl-C arrives.
    for await (const [line] of on(lines, 'line', { close: ['close'], signal: ended.signal })) {
      const question = String(line).trim();
      if (ended.signal.aborted || END_WORDS.has(question)) break;
      if (question !== '') {
        running = new AbortController();
        if (!(await ask(question, running.signal))) failedCount++;
        running = null;
        // Each question costs money: none without a reader.
        if (!(await out.taken())) break;
      }
      if (isTerminal && !isClosed && !ended.signal.aborted) lines.prompt();
    }
    lines.close();
  } catch (error) {
    // A terminal that was closed cannot be set back: closing `lines` would fail.
    if (!ended.signal.aborted) throw error;
    input.destroy();
  }
  if (isTerminal) screen.write('\n');
  return isTerminal || failedCount === 0 ? 0 : 1;
}

// Prints an answer: the agent's words, its SQL, its rows. All of it is foreign text: control characters never reach the
// terminal.

function printAnswer(
  answer: ChatAnswer,
  { request: { session_id: session }, format }: ChatSettings,
  { out, err }: Pick<VerbContext, 'out' | 'err'>,
): boolean {
  const { response, sql, data, columns, failure } = answer;
  if (format === 'json') printJson({ out }, answer, { data });
  else {
    const parts = [
      response === '' ? '' : printableText(response),
      sql === null ? '' : `SQL: ${printableText(sql)}`,
      data.length === 0 ? '' : renderTable(rowsOf(inOrder(data, columns)), out.columns, -1),
    ].filter(part => part !== '');
    if (parts.length > 0) out.line(parts.join('\n\n'));
  }
  const isEmpty = response === '' && sql === null && data.length === 0;
  if (isEmpty && failure === null)
    err.line('the answer is empty: it has no text, no SQL and no rows');
  if (session !== undefined && answer.session_id !== null && answer.session_id !== session)
    err.line(`the answer names another session: ${printableLine(answer.session_id)}`);
  if (failure !== null)
    err.line(`the agent could not answer: ${printableLine(failure)}; put the question differently`);
  return failure === null && !isEmpty;
}

/** Rows with their members in the order of the columns; members without a column come last. */
function inOrder(
  data: ChatAnswer['data'],
  columns: readonly string[],
): readonly Readonly<Record<string, unknown>>[] {
  const head = Object.fromEntries(columns.map(column => [column, undefined]));
  return columns.length === 0 ? data : data.map(row => ({ ...head, ...row }));
}
