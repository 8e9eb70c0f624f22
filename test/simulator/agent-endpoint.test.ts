import { expect, test } from 'vitest';
import { createAgentEndpoint } from '../../src/simulator/agent-endpoint.ts';

const NOW = Date.UTC(2026, 2, 4, 9);
const AGENT = 'c0ffee00-0000-4000-8000-000000000000';

function open() {
  const endpoint = createAgentEndpoint();
  return (method: string, path: string, json?: unknown) => {
    const answer = endpoint({
      method,
      path,
      query: new URLSearchParams(),
      headers: {},
      json,
      nowMs: NOW,
    });
    const text = answer?.body.toString() ?? '';
    return { status: answer?.status ?? 404, value: text === '' ? null : JSON.parse(text) };
  };
}

test('a session is created, read, used and ended', () => {
  const call = open();
  const metadata = { user_id: 'u1' };
  const { status, value } = call('POST', '/session', { agent_id: AGENT, metadata });
  expect([status, value]).toEqual([
    200,
    {
      session_id: expect.stringMatching(/^[0-9a-f]{32}$/u),
      agent_id: AGENT,
      created_at: '2026-03-04T09:00:00.000Z',
    },
  ]);
  const path = `/session/${value.session_id}`;
  expect(call('GET', path).value).toEqual({ ...value, metadata });
  const question = { prompt: 'How many?', agent_id: AGENT, session_id: value.session_id };
  expect(call('POST', '/chat', question).value).toMatchObject({ session_id: value.session_id });
  expect(call('DELETE', path).status).toBe(204);
  expect(call('GET', path).status).toBe(404);
  expect(call('POST', '/chat', question).status).toBe(404);
});

test('two sessions have two ids', () => {
  const call = open();
  const create = () => call('POST', '/session', { agent_id: AGENT }).value.session_id;
  expect(create()).not.toBe(create());
});

test('a chat without a session is answered without one, filtered as asked', () => {
  const call = open();
  const config = { table_filters: { orders: "region = 'north'" } };
  const { value } = call('POST', '/chat', { prompt: 'How many?', agent_id: AGENT, config });
  expect(value).toEqual({
    response: expect.stringContaining('How many?'),
    sql: expect.stringContaining("WHERE region = 'north'"),
    data: [
      { status: 'open', orders: 42 },
      { status: 'shipped', orders: 1_234 },
    ],
  });
});

test('what is missing is named in the form of the agent', () => {
  const call = open();
  const check = (path: string, json: unknown, member: string): void => {
    const { status, value } = call('POST', path, json);
    expect([status, value]).toEqual([
      400,
      { detail: [{ loc: ['body', member], msg: 'Field required', type: 'value_error' }] },
    ]);
  };
  check('/session', {}, 'agent_id');
  check('/session', undefined, 'agent_id');
  check('/chat', { agent_id: AGENT }, 'prompt');
  check('/chat', { prompt: 'x' }, 'agent_id');
  check('/chat', 'x', 'prompt');
});
