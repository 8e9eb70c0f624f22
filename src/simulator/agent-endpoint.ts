// The agent: sessions and chat (service-spec 2.1 to 2.3, 4, 5 and 7). It answers every question with the same small
// table, filtered as asked, and a greeting with words alone; it remembers what was asked in a session, and
// forgets what came without one. Where the specification says nothing, a fault decides.

import { z } from 'zod';
import {
  type Answer,
  detailAnswer,
  type Endpoint,
  type EndpointRequest,
  type FaultTable,
  isJsonSaid,
  jsonAnswer,
  segmentsOf,
} from './answer.ts';
import { hashText } from './load.ts';

/** Where agents differ, and what can be wrong. */
export interface AgentFaults {
  /** The shape of a chat's answer; `nested` carries the failure of the agent, if there is one. */
  readonly chatShape: 'plain' | 'nested';
  readonly chatError: string | null;
  /** The key of `config` whose filters count; the specification spells it in both ways. */
  readonly filterKey: 'table_filters' | 'table_filter';
  /** A path without a trailing slash is redirected to the one with it. */
  readonly isSlashRequired: boolean;
}

export const AGENT_FAULTS: FaultTable<AgentFaults> = {
  chatShape: [z.enum(['plain', 'nested']), 'plain'],
  chatError: [z.string().max(1_000).nullable(), null],
  filterKey: [z.enum(['table_filters', 'table_filter']), 'table_filters'],
  isSlashRequired: [z.boolean(), false],
};

interface Session {
  readonly session_id: string;
  readonly agent_id: string;
  readonly created_at: string;
  readonly metadata?: unknown;
}

interface Conversation {
  readonly session: Session;
  readonly prompts: string[];
}

/** The oldest session is forgotten when there are more; of a conversation, its oldest questions. */
const SESSIONS_MAX = 1_000;
const PROMPTS_MAX = 100;

const ROWS = [
  { status: 'open', orders: 42 },
  { status: 'shipped', orders: 1_234 },
];
/** Such a prompt wants no data. */
const GREETING = /^(?:hello|hi|thanks|thank you)\b/iu;

const TEXT = z.string().min(1, 'must not be empty');
const SESSION_BODY = z.object({
  agent_id: TEXT,
  metadata: z.record(z.string(), z.unknown()).optional(),
});
const FILTERS = z.record(z.string(), z.string()).optional();
const CHAT_BODY = z.object({
  prompt: TEXT,
  agent_id: z.string().pipe(z.guid('must be a UUID')),
  session_id: TEXT.optional(),
  config: z.object({ table_filters: FILTERS, table_filter: FILTERS }).optional(),
});
type ChatBody = z.infer<typeof CHAT_BODY>;

/** Paths are below /copilot/v1. */
export function createAgentEndpoint(faults: () => AgentFaults): Endpoint {
  const conversations = new Map<string, Conversation>();
  let created = 0;
  const create = (request: EndpointRequest): Answer => {
    const body = readBody(SESSION_BODY, request);
    if ('answer' in body) return body.answer;
    const { agent_id, metadata } = body.value;
    const session: Session = {
      session_id: sessionId(created++, request.nowMs),
      agent_id,
      created_at: new Date(request.nowMs).toISOString(),
    };
    const kept = metadata === undefined ? session : { ...session, metadata };
    conversations.set(session.session_id, { session: kept, prompts: [] });
    if (conversations.size > SESSIONS_MAX)
      conversations.delete(conversations.keys().next().value ?? '');
    return jsonAnswer(200, session);
  };
  const chat = (request: EndpointRequest): Answer => {
    const body = readBody(CHAT_BODY, request);
    if ('answer' in body) return body.answer;
    const { session_id, prompt } = body.value;
    const conversation = session_id === undefined ? null : conversations.get(session_id);
    if (conversation === undefined)
      return detailAnswer(404, ['body', 'session_id'], 'No such session');
    conversation?.prompts.push(prompt);
    if ((conversation?.prompts.length ?? 0) > PROMPTS_MAX) conversation?.prompts.shift();
    return jsonAnswer(200, replyTo(body.value, conversation?.prompts ?? [], faults()));
  };
  return request => {
    const { method, path } = request;
    const [resource = '', id = ''] = segmentsOf(path);
    if (method === 'POST' && path === '/chat') return chat(request);
    if (method === 'POST' && path === '/session') return create(request);
    if (resource !== 'session' || id === '' || (method !== 'GET' && method !== 'DELETE'))
      return null;
    const conversation = conversations.get(id);
    if (conversation === undefined)
      return detailAnswer(404, ['path', 'session_id'], 'No such session');
    if (method === 'GET') return jsonAnswer(200, conversation.session);
    conversations.delete(id);
    return { status: 204, headers: {}, body: Buffer.alloc(0) };
  };
}

type Read<T> = { readonly value: T } | { readonly answer: Answer };

/** The body, or a 400 that names the first mistake. */
function readBody<T>(schema: z.ZodType<T>, request: EndpointRequest): Read<T> {
  const refuse = (place: readonly string[], message: string): Read<T> => ({
    answer: detailAnswer(400, place, message),
  });
  if (!isJsonSaid(request)) return refuse(['header', 'Content-Type'], 'Must be application/json');
  if (request.json === undefined) return refuse(['body'], 'Malformed JSON');
  const read = schema.safeParse(request.json);
  if (read.success) return { value: read.data };
  const [issue] = read.error.issues;
  const isMissing = issue?.code === 'invalid_type' && issue.message.endsWith('undefined');
  const place = ['body', ...(issue?.path ?? []).map(String)];
  return refuse(place, isMissing ? 'Field required' : (issue?.message ?? 'Invalid'));
}

/** In the shape of the specification, or in the other one that has been seen. */
function replyTo(body: ChatBody, prompts: readonly string[], faults: AgentFaults): unknown {
  const { prompt, session_id } = body;
  const isAboutData = !GREETING.test(prompt);
  const sql = isAboutData ? sqlOf(body, faults) : undefined;
  const before = prompts.length > 1 ? ` Before that: ${prompts.at(-2) ?? ''}` : '';
  const words = isAboutData ? `There are ${ROWS.length} kinds of orders.` : 'At your service.';
  const response = `You asked: ${prompt} ${words}${before}`;
  const session = session_id === undefined ? {} : { session_id };
  if (faults.chatShape === 'plain')
    return { response, ...(sql === undefined ? {} : { sql, data: ROWS }), ...session };
  const content = faults.chatError === null ? response : null;
  const nested = { content, sql_text: sql ?? null, error_text: faults.chatError };
  const col_keys = isAboutData ? Object.keys(ROWS[0] ?? {}) : [];
  return { prompt, response: { ...nested, col_keys }, ...session };
}

function sqlOf({ config }: ChatBody, { filterKey }: AgentFaults): string {
  const filter = config?.[filterKey]?.['orders'];
  const where = filter === undefined ? '' : ` WHERE ${filter.replace(/^\s*where\s+/iu, '')}`;
  return `SELECT status, COUNT(*) AS orders FROM orders${where} GROUP BY status`;
}

function sessionId(number: number, nowMs: number): string {
  const digits = [1, 2, 3, 4].map(part => hashText(`${number} ${nowMs}`, part));
  return digits.map(digit => digit.toString(16).padStart(8, '0')).join('');
}
