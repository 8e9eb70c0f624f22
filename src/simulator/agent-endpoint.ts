// The agent: sessions and chat (service-spec 2.1 to 2.3). It answers every prompt with the same small table,
// filtered as asked, and remembers sessions; what a chat without session_id said is forgotten.

import {
  type Answer,
  detailAnswer,
  type Endpoint,
  jsonAnswer,
  missingMember,
  objectOf,
  segmentsOf,
  textOf,
} from './answer.ts';
import { hashText } from './load.ts';

interface Session {
  readonly session_id: string;
  readonly agent_id: string;
  readonly created_at: string;
  readonly metadata?: unknown;
}

/** The oldest session is forgotten when there are more. */
const SESSIONS_MAX = 1_000;

/** Paths are below /copilot/v1. */
export function createAgentEndpoint(): Endpoint {
  const sessions = new Map<string, Session>();
  let created = 0;
  const create = (json: unknown, nowMs: number): Answer => {
    const missing = missingMember(json, ['agent_id']);
    if (missing !== undefined) return detailAnswer(400, ['body', missing], 'Field required');
    const { agent_id, metadata } = objectOf(json);
    const session: Session = {
      session_id: sessionId(created++, nowMs),
      agent_id: textOf(agent_id),
      created_at: new Date(nowMs).toISOString(),
    };
    sessions.set(session.session_id, metadata === undefined ? session : { ...session, metadata });
    if (sessions.size > SESSIONS_MAX) sessions.delete(sessions.keys().next().value ?? '');
    return jsonAnswer(200, session);
  };
  return ({ method, path, json, nowMs }) => {
    const [resource = '', id = ''] = segmentsOf(path);
    if (method === 'POST' && path === '/chat') return chat(json, sessions);
    if (resource !== 'session') return null;
    if (method === 'POST' && id === '') return create(json, nowMs);
    const session = sessions.get(id);
    if (session === undefined) return detailAnswer(404, ['path', 'session_id'], 'No such session');
    if (method === 'GET') return jsonAnswer(200, session);
    if (method !== 'DELETE') return null;
    sessions.delete(id);
    return { status: 204, headers: {}, body: Buffer.alloc(0) };
  };
}

function chat(json: unknown, sessions: ReadonlyMap<string, Session>): Answer {
  const missing = missingMember(json, ['prompt', 'agent_id']);
  if (missing !== undefined) return detailAnswer(400, ['body', missing], 'Field required');
  const { prompt, session_id, config } = objectOf(json);
  if (session_id !== undefined && !sessions.has(textOf(session_id))) {
    return detailAnswer(404, ['body', 'session_id'], 'No such session');
  }
  const filters = objectOf(objectOf(config)['table_filters']);
  const filter = filters['orders'];
  const where = filter === undefined ? '' : ` WHERE ${textOf(filter)}`;
  const data = [
    { status: 'open', orders: 42 },
    { status: 'shipped', orders: 1_234 },
  ];
  return jsonAnswer(200, {
    response: `You asked: ${textOf(prompt)} There are ${data.length} kinds of orders.`,
    sql: `SELECT status, COUNT(*) AS orders FROM orders${where} GROUP BY status`,
    data,
    ...(session_id === undefined ? {} : { session_id }),
  });
}

function sessionId(number: number, nowMs: number): string {
  const digits = [1, 2, 3, 4].map(part => hashText(`${number} ${nowMs}`, part));
  return digits.map(digit => digit.toString(16).padStart(8, '0')).join('');
}
