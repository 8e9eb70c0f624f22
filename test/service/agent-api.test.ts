import { describe, expect, test } from 'vitest';
import type { ChatRequest, SessionRequest } from '../../src/service/agent-api.ts';
import { type ScriptedService, scriptedService } from '../support/service-client.ts';

const AGENT = 'c0ffee00-0000-4000-8000-000000000000';
const QUESTION: ChatRequest = { prompt: 'How many?', agent_id: AGENT };

async function answered(service: ScriptedService, request: ChatRequest = QUESTION) {
  const result = await service.client.agent.chat(request);
  if (!result.ok) throw new Error(result.error.message);
  return result.answer;
}

describe('createSession', () => {
  test('sends agent and metadata, and keeps unknown fields', async () => {
    const session = { session_id: 's1', agent_id: AGENT, created_at: 'x', ttl: 60 };
    await using service = await scriptedService((_, index) => ({
      body: index === 0 ? session : { session },
    }));
    const metadata = { user_id: 'u1' };
    const { agent } = service.client;
    expect(await agent.createSession({ agent_id: AGENT, metadata })).toEqual({ ok: true, session });
    expect(await agent.createSession({ agent_id: AGENT })).toEqual({ ok: true, session });
    const [first, second] = service.server.requests;
    expect(first).toMatchObject({ method: 'POST', path: '/copilot/v1/session' });
    expect(first?.headers).toMatchObject({
      'content-type': 'application/json',
      accept: 'application/json',
    });
    expect(JSON.parse(first?.body ?? '')).toEqual({ agent_id: AGENT, metadata });
    expect(JSON.parse(second?.body ?? '')).toEqual({ agent_id: AGENT });
  });

  test('rejects an answer without an id', async () => {
    await using service = await scriptedService(() => ({ body: { agent_id: AGENT } }));
    expect(await service.client.agent.createSession({ agent_id: AGENT })).toMatchObject({
      ok: false,
      error: { kind: 'unreadable', message: expect.stringContaining('no session_id') },
    });
  });

  test('endSession names the session in the path', async () => {
    await using service = await scriptedService(() => ({ status: 204 }));
    expect(await service.client.agent.endSession('a/b')).toEqual({ ok: true });
    expect(service.server.requests[0]).toMatchObject({
      method: 'DELETE',
      path: '/copilot/v1/session/a%2Fb',
    });
  });
});

describe('chat', () => {
  test('sends the specified fields, and reads the specified shape', async () => {
    const data = [{ status: 'open', orders: 42 }];
    const body = { response: 'Two.', sql: 'SELECT 1', data, session_id: 's1' };
    await using service = await scriptedService(() => ({ body }));
    const config = { table_filters: { orders: "region = 'north'" } };
    const request = { ...QUESTION, session_id: 's1', config };
    expect(await answered(service, request)).toEqual({
      response: 'Two.',
      sql: 'SELECT 1',
      data,
      columns: [],
      session_id: 's1',
      failure: null,
    });
    expect(JSON.parse(service.server.requests[0]?.body ?? '')).toEqual(request);
  });

  test("reads the other shape, also with the agent's failure in a 200", async () => {
    const response = { content: 'Two.', sql_text: 'SELECT 1', error_text: null, col_keys: ['n'] };
    const failed = { ...response, content: null, error_text: 'no such table' };
    const bodies = [
      { prompt: 'How many?', response },
      { prompt: 'How many?', response: failed },
    ];
    await using service = await scriptedService((_, index) => ({ body: bodies[index] }));
    const shared = { sql: 'SELECT 1', data: [], columns: ['n'], session_id: null };
    expect(await answered(service)).toEqual({ response: 'Two.', failure: null, ...shared });
    const failure = 'no such table';
    expect(await answered(service)).toEqual({ response: '', failure, ...shared });
  });

  test('accepts words alone, and members of another type', async () => {
    const bodies = [{ response: 'Hello.' }, { response: 'Hello.', sql: 7, data: 'none' }];
    await using service = await scriptedService((_, index) => ({ body: bodies[index] }));
    for (const _ of bodies)
      expect(await answered(service)).toMatchObject({ response: 'Hello.', sql: null, data: [] });
  });

  test('rejects an answer of neither shape', async () => {
    await using service = await scriptedService(() => ({ body: { answer: 'Two.' } }));
    expect(await service.client.agent.chat(QUESTION)).toMatchObject({
      error: { kind: 'unreadable', message: expect.stringContaining('holds no response') },
    });
  });

  test('is sent once, whatever the result', async () => {
    const check = async (kind: string, answer: object): Promise<void> => {
      await using service = await scriptedService(() => answer);
      const result = await service.client.agent.chat(QUESTION);
      expect(result).toMatchObject({ ok: false, error: { kind } });
      expect(service.server.requests).toHaveLength(1);
    };
    await check('server', { status: 500 });
    await check('network', { isLost: true });
    await check('key', { status: 401 });
  });

  test('is aborted after its own timeout', async () => {
    await using service = await scriptedService(() => ({ isSilent: true }));
    const result = await service.client.agent.chat(QUESTION, { timeoutMs: 1000 });
    // The message has the timeout of the call, not the rest that was left when the request was sent.
    const message = expect.stringContaining('(1000 ms)') as unknown;
    expect(result).toMatchObject({ error: { kind: 'timeout', isOutcomeUnknown: true, message } });
  });
});

test('a request that the specification forbids is not sent', async () => {
  await using service = await scriptedService(() => ({ body: {} }));
  const { agent } = service.client;
  const chat = async (change: Partial<ChatRequest>, path: string): Promise<void> =>
    expect(await agent.chat({ ...QUESTION, ...change })).toMatchObject({
      error: { kind: 'bad_request', problems: [{ path }] },
    });
  const create = async (request: SessionRequest, path: string): Promise<void> =>
    expect(await agent.createSession(request)).toMatchObject({
      error: { kind: 'bad_request', problems: [{ path }] },
    });
  await create({ agent_id: 'my-agent' }, 'agent_id');
  await create({ agent_id: AGENT, metadata: { '': 1 } }, 'metadata.');
  await chat({ agent_id: '' }, 'agent_id');
  await chat({ prompt: ' ' }, 'prompt');
  await chat({ session_id: '' }, 'session_id');
  await chat({ config: { table_filters: { orders: '' } } }, 'config.table_filters.orders');
  expect(service.server.requests).toEqual([]);
});
