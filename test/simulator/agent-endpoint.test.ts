// The rules of the specification for the agent, one by one, with their section in the title.

import { describe, expect, test } from 'vitest';
import { createAgentEndpoint } from '../../src/simulator/agent-endpoint.ts';
import { callerOf, JSON_TYPE } from './call.ts';

const AGENT = 'c0ffee00-0000-4000-8000-000000000000';

const open = callerOf.bind(null, createAgentEndpoint);

test('the list has agents with ids, with and without the slash', () => {
  const call = open();
  const { status, value } = call('GET', '/agent/');
  expect([status, value]).toEqual([
    200,
    expect.arrayContaining([expect.objectContaining({ id: AGENT })]),
  ]);
  expect(call('GET', '/agent')).toMatchObject({ status, value });
});

describe('a session', () => {
  test('2.1, 4: is created from an agent_id; the answer has its id, that agent and its time', () => {
    const { status, value } = open()('POST', '/session', { agent_id: AGENT });
    expect([status, value]).toEqual([
      200,
      {
        session_id: expect.stringMatching(/^[0-9a-f]{32}$/u),
        agent_id: AGENT,
        created_at: '2026-03-04T09:00:00.000Z',
      },
    ]);
  });

  test('2.1: takes free metadata', () => {
    const call = open();
    const metadata = { user_id: 'u1', conversation_topic: 'orders', other: { deep: [1] } };
    const { session_id } = call('POST', '/session', { agent_id: AGENT, metadata }).value;
    expect(call('GET', `/session/${session_id}`).value).toMatchObject({ metadata });
  });

  test('2.1: has a unique id', () => {
    const call = open();
    const create = () => call('POST', '/session', { agent_id: AGENT }).value.session_id;
    expect(create()).not.toBe(create());
  });

  test('observed: can be read and ended', () => {
    const call = open();
    const { session_id } = call('POST', '/session', { agent_id: AGENT }).value;
    const path = `/session/${session_id}`;
    expect(call('GET', path).status).toBe(200);
    expect(call('DELETE', path).status).toBe(204);
    expect(call('GET', path).status).toBe(404);
    const question = { prompt: 'How many?', agent_id: AGENT, session_id };
    expect(call('POST', '/chat', question).status).toBe(404);
  });
});

describe('a chat', () => {
  const question = { prompt: 'How many?', agent_id: AGENT };

  test('2.3: always has words; SQL and rows if the question needs them', () => {
    expect(open()('POST', '/chat', question).value).toEqual({
      response: 'You asked: How many? There are 2 kinds of orders.',
      sql: 'SELECT status, COUNT(*) AS orders FROM orders GROUP BY status',
      data: [
        { status: 'open', orders: 42 },
        { status: 'shipped', orders: 1_234 },
      ],
    });
    expect(open()('POST', '/chat', { ...question, prompt: 'Hello!' }).value).toEqual({
      response: 'You asked: Hello! At your service.',
    });
  });

  test('4, rule 1: without a session_id is forgotten; with one it is a conversation', () => {
    const call = open();
    call('POST', '/chat', { ...question, prompt: 'First?' });
    expect(call('POST', '/chat', question).value.response).not.toContain('First?');
    const { session_id } = call('POST', '/session', { agent_id: AGENT }).value;
    call('POST', '/chat', { ...question, prompt: 'First?', session_id });
    const { value } = call('POST', '/chat', { ...question, session_id });
    expect(value.response).toContain('Before that: First?');
  });

  test('4, rule 2: answers with the session_id that was sent', () => {
    const call = open();
    const { session_id } = call('POST', '/session', { agent_id: AGENT }).value;
    expect(call('POST', '/chat', { ...question, session_id }).value.session_id).toBe(session_id);
  });

  test('4, rule 3: applies a filter to the table that it names', () => {
    const call = open();
    const sqlFor = (table_filters: object): string =>
      call('POST', '/chat', { ...question, config: { table_filters } }).value.sql;
    expect(sqlFor({ orders: "region = 'north'" })).toContain("orders WHERE region = 'north' GROUP");
    expect(sqlFor({ orders: 'WHERE a = 1' })).toContain('orders WHERE a = 1 GROUP');
    expect(sqlFor({ customers: 'a = 1' })).not.toContain('WHERE');
  });
});

describe('7: 400, naming the place, for', () => {
  const check = (path: string, json: unknown, place: string[], headers = JSON_TYPE as object) => {
    const { status, value } = open()('POST', path, json, { headers: { ...headers } });
    expect([status, value.detail?.[0]?.loc]).toEqual([400, place]);
    return value.detail[0];
  };

  test('missing fields', () => {
    const required = { msg: 'Field required', type: 'value_error' };
    expect(check('/session', {}, ['body', 'agent_id'])).toMatchObject(required);
    expect(check('/chat', { agent_id: AGENT }, ['body', 'prompt'])).toMatchObject(required);
    expect(check('/chat', { prompt: 'x' }, ['body', 'agent_id'])).toMatchObject(required);
  });

  test('malformed syntax', () => {
    check('/session', undefined, ['body']);
    check('/chat', 'x', ['body']);
  });

  test('fields of another type', () => {
    const chat = { prompt: 'x', agent_id: AGENT };
    check('/session', { agent_id: '' }, ['body', 'agent_id']);
    check('/session', { agent_id: AGENT, metadata: 'x' }, ['body', 'metadata']);
    check('/chat', { ...chat, agent_id: 'my-agent' }, ['body', 'agent_id']);
    check('/chat', { ...chat, session_id: 7 }, ['body', 'session_id']);
    check('/chat', { ...chat, config: { table_filters: { orders: 1 } } }, [
      'body',
      'config',
      'table_filters',
      'orders',
    ]);
  });

  test('4: a body without Content-Type JSON', () => {
    check('/chat', { prompt: 'x', agent_id: AGENT }, ['header', 'Content-Type'], {});
    const text = { 'content-type': 'text/plain' };
    check('/session', { agent_id: AGENT }, ['header', 'Content-Type'], text);
  });
});

test('other paths do not exist', () => {
  const call = open();
  for (const [method, path] of [
    ['GET', '/chat'],
    ['GET', '/session'],
    ['PUT', '/session'],
    ['POST', '/session/x'],
    ['POST', '/sessions'],
  ] as const)
    expect(call(method, path, { agent_id: AGENT }).status).toBe(404);
});
