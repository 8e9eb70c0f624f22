// The agent (service-spec 2.1 to 2.3): the list of agents, sessions, and questions in natural language. Requests are checked before they are
// sent; answers are read in both observed shapes. A question is never sent twice: it costs money and changes the
// conversation.

import * as z from 'zod';
import { isObject } from '../lib/json.ts';
import { ApiArea } from './api-area.ts';
import { anyText, kindOf, lenient, problemsOf, someText, textField } from './operations.ts';
import type { ReadOptions } from './http-client.ts';
import { refusedRequest, type RequestProblem, type Result } from './service-error.ts';

/** An agent in the service's list. Other fields are left out: they may say how the agent reaches its data. */
export interface Agent {
  /** The UUID that the other requests name. */
  readonly agent_id: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** ISO 8601, UTC. */
  readonly created_at?: string | undefined;
}

export interface SessionRequest {
  /** UUID of the agent. */
  readonly agent_id: string;
  /** Any keys; the specification suggests `user_id` and `conversation_topic`. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** A session in the service's answer; further fields are kept. */
export interface Session {
  readonly [field: string]: unknown;
  readonly session_id: string;
  readonly agent_id?: string | undefined;
  /** ISO 8601, UTC. */
  readonly created_at?: string | undefined;
}

export interface ChatRequest {
  readonly prompt: string;
  /** UUID of the agent. */
  readonly agent_id: string;
  /** Without a session the question has no context. */
  readonly session_id?: string | undefined;
  readonly config?: ChatConfig | undefined;
}

/** SQL conditions by table, which the service adds to every query on that table. */
export interface ChatConfig {
  readonly table_filters?: Readonly<Record<string, string>> | undefined;
  /** The other spelling in the specification; send only one of them. */
  readonly table_filter?: Readonly<Record<string, string>> | undefined;
}

/** The agent's answer, in the same form for both shapes. */
export interface ChatAnswer {
  /** The text; '' if there is none. */
  readonly response: string;
  readonly sql: string | null;
  /** Rows, each an object of column name to value. */
  readonly data: readonly Readonly<Record<string, unknown>>[];
  /** The columns in order; empty if the service does not list them. */
  readonly columns: readonly string[];
  /** The session of the request, if the service repeats it. */
  readonly session_id: string | null;
  /** The agent's failure to answer, which comes with status 200; null if there is none. */
  readonly failure: string | null;
}

export interface ChatOptions extends ReadOptions {
  /** CHAT_TIMEOUT_MS if absent. */
  readonly timeoutMs?: number | undefined;
}

/** A chat takes tens of seconds. */
export const CHAT_TIMEOUT_MS = 60_000;

const STATUS_OK = 200;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const TABLE = /^[^\p{Cc}]{1,200}$/u;

const agentId: z.ZodType<string> = textField(text =>
  UUID.test(text) ? null : 'expected the UUID of the agent',
);

const sessionRequest: z.ZodType = z.strictObject({
  agent_id: agentId,
  metadata: z.record(someText, z.unknown()).optional(),
});

const filters = z
  .record(z.string().regex(TABLE, 'expected the name of a table'), someText)
  .optional();

const chatRequest: z.ZodType = z.strictObject({
  prompt: someText,
  agent_id: agentId,
  session_id: someText.optional(),
  config: z.strictObject({ table_filters: filters, table_filter: filters }).optional(),
});

const session: z.ZodType<Session> = z.looseObject({
  session_id: z.string().min(1),
  agent_id: anyText,
  created_at: anyText,
});

const SESSIONS = kindOf('sessions', session);

const agent = z
  .object({
    id: anyText,
    agent_id: anyText,
    name: anyText,
    description: anyText,
    created_at: anyText,
  })
  .transform(({ id, agent_id = id, ...rest }) => ({ agent_id, ...rest }))
  .refine((one): one is typeof one & Agent => one.agent_id !== undefined && one.agent_id !== '');
const AGENTS = kindOf<Agent>('agents', agent);

/** A row that is not an object is wrapped in one as `value`, so that no part of an answer is lost. */
const rows = lenient(
  z.array(z.unknown()).transform(all => all.map(one => (isObject(one) ? one : { value: one }))),
);
const plainChat = z.object({
  response: z.string(),
  sql: anyText,
  data: rows,
  session_id: anyText,
});
const nestedChat = z.object({
  response: z.object({
    content: anyText,
    sql_text: anyText,
    error_text: anyText,
    col_keys: lenient(z.array(z.string())),
    data: rows,
  }),
  data: rows,
  session_id: anyText,
});

/** The problems of a request, or null. `createSession` checks them before it sends anything. */
export function sessionProblems(request: SessionRequest): readonly RequestProblem[] | null {
  return problemsOf(sessionRequest, request);
}

/** The same for `chat`. */
export function chatProblems(request: ChatRequest): readonly RequestProblem[] | null {
  return problemsOf(chatRequest, request);
}

export class AgentApi extends ApiArea {
  /** The agents that the key can see. The path was observed; the specification does not name it. */
  async list({
    signal,
  }: ReadOptions = {}): Promise<
    Result<{ readonly agents: readonly Agent[]; readonly isComplete: boolean }>
  > {
    const read = await this.readList(AGENTS, {}, signal, `${this.path}/agent/`);
    return read.ok ? { ok: true, agents: read.items, isComplete: read.isComplete } : read;
  }

  async createSession(
    request: SessionRequest,
    { signal }: ReadOptions = {},
  ): Promise<Result<{ readonly session: Session }>> {
    const problems = sessionProblems(request);
    if (problems !== null) return refusedRequest('create the session', problems);
    const path = `${this.path}/session`;
    const result = await this.createOne(SESSIONS, { path, body: request, signal });
    if (!result.ok) return result;
    if (result.created !== null) return { ok: true, session: result.created };
    return this.unreadable('create the session', 'holds no session_id', STATUS_OK);
  }

  /** Ends a session. The specification only recommends it; a service without this operation answers 404. */
  async endSession(id: string, { signal }: ReadOptions = {}): Promise<Result<object>> {
    const path = `${this.path}/session/${encodeURIComponent(id)}`;
    const answer = await this.http.requestJson('DELETE', path, { signal, isPlain: false });
    return answer.ok ? { ok: true } : answer;
  }

  async chat(
    request: ChatRequest,
    { signal, timeoutMs = CHAT_TIMEOUT_MS }: ChatOptions = {},
  ): Promise<Result<{ readonly answer: ChatAnswer }>> {
    const problems = chatProblems(request);
    if (problems !== null) return refusedRequest('ask the agent', problems);
    const answer = await this.http.requestJson('POST', `${this.path}/chat`, {
      body: request,
      signal,
      timeoutMs,
    });
    if (!answer.ok) return answer;
    const read = readChat(answer.json);
    if (read !== null) return { ok: true, answer: read };
    return this.unreadable('ask the agent', 'holds no response', answer.status);
  }
}

/** Null if the answer has neither shape. */
function readChat(json: unknown): ChatAnswer | null {
  const plain = plainChat.safeParse(json);
  if (plain.success) {
    const { response, sql, data, session_id } = plain.data;
    const shared = { columns: [], failure: null, session_id: session_id ?? null };
    return { response, sql: sql || null, data: data ?? [], ...shared };
  }
  const nested = nestedChat.safeParse(json);
  if (!nested.success) return null;
  const { response, data, session_id } = nested.data;
  return {
    response: response.content ?? '',
    sql: response.sql_text || null,
    data: data ?? response.data ?? [],
    columns: response.col_keys ?? [],
    session_id: session_id ?? null,
    failure: response.error_text || null,
  };
}
