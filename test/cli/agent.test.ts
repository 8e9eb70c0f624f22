import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { verb as agent } from '../../src/cli/agent.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { callVerb, type Printed } from '../support/verb-context.ts';

const KEY = 'canary-key-of-the-agent';
const AGENT = 'c0ffee00-0000-4000-8000-000000000000';
const CHAT_PATH = '/copilot/v1/chat';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ clock: systemClock, key: KEY });
});
afterEach(() => simulator.resetFaults());
afterAll(() => simulator.close());

/** `words` begin with the action; the API, the key and the agent are given. */
async function call(words: readonly string[], typed?: string): Promise<Printed> {
  const access = ['--base-url', simulator.url, '--agent-id', AGENT];
  const printed = await callVerb(agent, [...words, ...access], {
    environment: { PROM2OTLP_API_KEY: KEY },
    ...(typed === undefined ? {} : { typed }),
  });
  expect(printed.out + printed.err).not.toContain('canary');
  return printed;
}

function asked(path = CHAT_PATH): number {
  return simulator.requests.countByPath.get(path) ?? 0;
}

async function openSession(): Promise<string> {
  const { out } = await call(['session', 'create', '--json']);
  return JSON.parse(out).sessionId;
}

test('agent session create prints the session as a table or as JSON', async () => {
  const { code, out } = await call(['session', 'create', '--metadata', 'user_id=u=1']);
  expect(code).toBe(0);
  expect(out).toMatch(/^SESSION +AGENT +CREATED\n[0-9a-f]{32} +c0ffee00-\S+ +20\S+Z\n$/);
  expect(await openSession()).toMatch(/^[0-9a-f]{32}$/);
});

describe('agent chat with a question', () => {
  test('prints words, SQL and rows', async () => {
    const { code, out } = await call(['chat', 'How', 'many?']);
    expect([code, out]).toEqual([
      0,
      [
        'You asked: How many? There are 2 kinds of orders.',
        '',
        'SQL: SELECT status, COUNT(*) AS orders FROM orders GROUP BY status',
        '',
        'STATUS   ORDERS',
        'open         42',
        'shipped    1234',
        '',
      ].join('\n'),
    ]);
  });

  test('prints words alone if the answer has nothing else', async () => {
    expect((await call(['chat', 'Hello'])).out).toBe('You asked: Hello At your service.\n');
  });

  test('prints all of it as JSON', async () => {
    const { out } = await call(['chat', '--json', 'How many?']);
    expect(JSON.parse(out)).toMatchObject({
      sql: expect.any(String),
      sessionId: null,
      data: [{}, {}],
    });
  });

  test('asks within a session', async () => {
    const session = await openSession();
    await call(['chat', '--session-id', session, 'First?']);
    const { out } = await call(['chat', '--session-id', session, 'Second?']);
    expect(out).toContain('Before that: First?');
  });

  test('sends filters, under the other key on request', async () => {
    const filter = ['--filter', "orders=WHERE region = 'north' AND x=1"];
    const where = "FROM orders WHERE region = 'north' AND x=1 GROUP";
    expect((await call(['chat', ...filter, 'How many?'])).out).toContain(where);
    const singular = [...filter, '--filter-key', 'table_filter'];
    expect((await call(['chat', ...singular, 'How many?'])).out).not.toContain('WHERE');
    simulator.setFaults({ filterKey: 'table_filter' });
    expect((await call(['chat', ...singular, 'How many?'])).out).toContain(where);
  });

  test("reads the other shape, and reports the agent's failure", async () => {
    simulator.setFaults({ chatShape: 'nested' });
    expect((await call(['chat', 'How many?'])).out).toContain('2 kinds of orders');
    simulator.setFaults({ chatError: 'no such\u001B[2Jtable' });
    const { code, out, err } = await call(['chat', 'How many?']);
    expect([code, err]).toEqual([
      1,
      'the agent could not answer: no such?[2Jtable; put the question differently\n',
    ]);
    expect(out).toContain('SQL: ');
  });

  test('follows the service to a path with a slash', async () => {
    simulator.setFaults({ isSlashRequired: true });
    expect((await call(['chat', 'How many?'])).code).toBe(0);
    expect(await openSession()).toMatch(/^[0-9a-f]{32}$/);
  });

  test('removes control characters', async () => {
    const prompt = 'a\u001B]0;title\u0007b\u009B2Jc\u202Ed';
    const { out } = await call(['chat', prompt]);
    expect(out).toContain('You asked: a?]0;title?b?2Jc?d');
    const json = await call(['chat', '--json', prompt]);
    expect(json.out.replaceAll('\n', '')).toMatch(/^[^\p{Cc}\u202A-\u202E]*$/u);
    expect(JSON.parse(json.out).response).toContain(prompt);
  });

  test('reports each failure in its own words, and asks once', async () => {
    const check = async (faults: object, ...words: string[]): Promise<void> => {
      simulator.setFaults({ path: CHAT_PATH, ...faults });
      const before = asked();
      const wait = 'isSilent' in faults ? ['--timeout', '1s'] : [];
      const { code, err } = await call(['chat', ...wait, 'How many?']);
      expect(asked()).toBe(before + 1);
      simulator.resetFaults();
      expect(code).toBe(1);
      for (const word of words) expect(err).toContain(word);
    };
    await check({ status: 500 }, 'the service failed (500: Simulated failure)');
    await check({ status: 429, retryAfter: '0' }, 'too many requests');
    await check({ isSilent: true }, 'no complete answer within the timeout');
    await check({ body: 'html', contentType: 'text/html' }, 'the answer is not JSON');
    await check({ body: 'empty' }, 'holds no response');
    await check({ cut: 'length' }, 'ended before it was complete');
    simulator.key = 'another';
    const { code, err } = await call(['chat', 'How many?']);
    simulator.key = KEY;
    expect([code, err]).toEqual([1, expect.stringContaining('the service refused the key (401')]);
    const unknown = await call(['chat', '--session-id', 'none', 'How many?']);
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('No such session')]);
  });
});

describe('agent chat without a question', () => {
  test('takes one question per line, in its own session, which it ends', async () => {
    const { code, out, err } = await call(['chat'], 'First?\n\n  Second?\nexit\nThird?\n');
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('You asked: Second? There are 2 kinds of orders. Before that: First?');
    expect(out).not.toContain('Third?');
    const ended = [...simulator.requests.countByPath.keys()].at(-1) ?? '';
    expect(ended).toMatch(/^\/copilot\/v1\/session\/[0-9a-f]{32}$/);
  });

  test('continues a session that the user names, and leaves it open', async () => {
    const session = await openSession();
    await call(['chat', '--session-id', session], 'First?');
    const { out } = await call(['chat', '--session-id', session, 'Second?']);
    expect(out).toContain('Before that: First?');
  });

  test('continues after a failure, and reports it at the end', async () => {
    simulator.setFaults({ path: CHAT_PATH, status: 500, times: 1 });
    const { code, out, err } = await call(['chat'], 'First?\nSecond?\n');
    expect([code, err]).toEqual([1, expect.stringContaining('the service failed')]);
    expect(out).toContain('You asked: Second?');
  });

  test('ends at once if it cannot open a session', async () => {
    simulator.setFaults({ path: '/copilot/v1/session', status: 500 });
    const before = asked();
    expect((await call(['chat'], 'First?\n')).code).toBe(1);
    expect(asked()).toBe(before);
  });
});

test('mistakes on the command line are reported, and nothing is sent', async () => {
  const before = simulator.requests.count;
  const access = ['--base-url', simulator.url];
  const check = async (why: string, words: readonly string[]): Promise<void> => {
    const environment = { PROM2OTLP_API_KEY: KEY };
    const { code, err } = await callVerb(agent, [...words, ...access], { environment });
    expect([code, err]).toEqual([null, expect.stringContaining(why)]);
  };
  const chat = (...more: string[]): string[] => ['chat', '--agent-id', AGENT, ...more];
  await check('there is no action "talk", only session create, chat', ['talk']);
  await check('did you mean agent session create?', ['session', 'list']);
  await check('expected --agent-id UUID', ['chat', 'x']);
  await check('--agent-id: expected the UUID', ['chat', '--agent-id', 'sales', 'x']);
  await check('--agent-id: expected the UUID', ['session', 'create', '--agent-id', AGENT + '0']);
  await check('unexpected "x"', ['session', 'create', '--agent-id', AGENT, 'x']);
  await check('expected --metadata as NAME=VALUE, got "u"', [
    'session',
    'create',
    '--agent-id',
    AGENT,
    '--metadata',
    'u',
  ]);
  await check('PROMPT: expected a text', chat(' '));
  await check('expected --filter as NAME=VALUE, got "orders"', chat('--filter', 'orders', 'x'));
  await check('expected --filter as', chat('--filter', 'orders= ', 'x'));
  await check('--filter has "a" twice', chat('--filter', 'a=1', '--filter', 'a=2', 'x'));
  await check(
    '--filter-key: expected table_filters or table_filter',
    chat('--filter-key', 'filters', 'x'),
  );
  await check('--session-id: expected a text', chat('--session-id', '', 'x'));
  await check(
    '--timeout: expected a duration such as 10s or 5m, at most 15m',
    chat('--timeout', '1h', 'x'),
  );
  await check('unknown option "--api-key"', chat('--api-key', 'k', 'x'));
  expect(simulator.requests.count).toBe(before);
});
