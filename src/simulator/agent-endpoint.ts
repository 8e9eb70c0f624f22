// The agent: list, sessions and chat (service-spec 2.1 to 2.3, 4, 5 and 7). It answers every question with the same small
// table and the requested filter, and a greeting with text only. It remembers the questions of a session.

import { z } from 'zod';
import {
  type Answer,
  detailAnswer,
  emptyAnswer,
  type Endpoint,
  type EndpointRequest,
  jsonAnswer,
  segmentsOf,
  withBody,
} from './answer.ts';
import { hexOf } from './load.ts';

interface Conversation {
  /** The session as the service returns it. */
  readonly session: unknown;
  readonly prompts: string[];
}

const ROWS = [
  { status: 'open', orders: 42 },
  { status: 'shipped', orders: 1_234 },
];
const AGENTS = [
  {
    id: '6f1c0de5-1b2c-4d3e-8f90-a1b2c3d44b2a',
    name: 'sales',
    description: 'Orders, customers and what they paid',
    created_at: '2026-01-12T08:30:00Z',
  },
  {
    id: 'c0ffee00-0000-4000-8000-000000000000',
    name: 'operations',
    description: null,
    created_at: '2026-02-02T16:05:00Z',
  },
];
/** A prompt that gets no data. */
const GREETING = /^(?:hello|hi|thanks|thank you)\b/iu;

/** Reports a value of the wrong type with `message`, and a missing value in the agent's words. */
const string = (message: string): z.ZodString =>
  z.string({ error: ({ input }) => (input === undefined ? 'Field required' : message) });
const TEXT = string('must be a text').min(1, 'must not be empty');
const SESSION_BODY = z.object({
  agent_id: TEXT,
  metadata: z.record(z.string(), z.unknown()).optional(),
});
const CHAT_BODY = z.object({
  prompt: TEXT,
  agent_id: string('must be a UUID').pipe(z.guid('must be a UUID')),
  session_id: TEXT.optional(),
  config: z.object({ table_filters: z.record(z.string(), z.string()).optional() }).optional(),
});
type ChatBody = z.infer<typeof CHAT_BODY>;

const refuse = detailAnswer.bind(null, 400);

/** Paths are below /copilot/v1. */
export function createAgentEndpoint(): Endpoint {
  const conversations = new Map<string, Conversation>();
  let created = 0;
  const create = (request: EndpointRequest): Answer =>
    withBody(SESSION_BODY, request, refuse, ({ agent_id, metadata }) => {
      const session_id = hexOf(`${created++} ${request.nowMs}`);
      const session = { session_id, agent_id, created_at: new Date(request.nowMs).toISOString() };
      // JSON leaves out metadata that is undefined.
      conversations.set(session_id, { session: { ...session, metadata }, prompts: [] });
      return jsonAnswer(200, session);
    });
  const chat = (request: EndpointRequest): Answer =>
    withBody(CHAT_BODY, request, refuse, body => {
      const { session_id, prompt } = body;
      const conversation = session_id === undefined ? null : conversations.get(session_id);
      if (conversation === undefined)
        return detailAnswer(404, ['body', 'session_id'], 'No such session');
      conversation?.prompts.push(prompt);
      return jsonAnswer(200, replyTo(body, conversation?.prompts ?? []));
    });
  return request => {
    const { method, path } = request;
    const [resource = '', id = ''] = segmentsOf(path);
    if (method === 'GET' && resource === 'agent' && id === '') return jsonAnswer(200, AGENTS);
    if (method === 'POST' && path === '/chat') return chat(request);
    if (method === 'POST' && path === '/session') return create(request);
    if (resource !== 'session' || id === '' || (method !== 'GET' && method !== 'DELETE'))
      return null;
    const conversation = conversations.get(id);
    if (conversation === undefined)
      return detailAnswer(404, ['path', 'session_id'], 'No such session');
    if (method === 'GET') return jsonAnswer(200, conversation.session);
    conversations.delete(id);
    return emptyAnswer(204);
  };
}

function replyTo(body: ChatBody, prompts: readonly string[]): unknown {
  const { prompt, session_id } = body;
  const isAboutData = !GREETING.test(prompt);
  const before = prompts.length > 1 ? ` Before that: ${prompts.at(-2) ?? ''}` : '';
  const words = isAboutData ? `There are ${ROWS.length} kinds of orders.` : 'At your service.';
  return {
    response: `You asked: ${prompt} ${words}${before}`,
    ...(isAboutData ? { sql: sqlOf(body), data: ROWS } : {}),
    ...(session_id === undefined ? {} : { session_id }),
  };
}

function sqlOf({ config }: ChatBody): string {
  const filter = config?.table_filters?.['orders'];
  const where = filter === undefined ? '' : ` WHERE ${filter.replace(/^\s*where\s+/iu, '')}`;
  return `SELECT status, COUNT(*) AS orders FROM orders${where} GROUP BY status`;
}
