import { describe, expect, test } from 'vitest';
import { SHELL_KEY, useShell } from '../support/service-shell.ts';

const AGENT = 'c0ffee00-0000-4000-8000-000000000000';
const CHAT_PATH = '/copilot/v1/chat';
const CHAT = `agent chat --agent-id ${AGENT}`;
const CREATE = `agent session create --agent-id ${AGENT}`;

const shell = await useShell();
const { simulator } = shell;

function asked(): number {
  return simulator.requests.countByPath.get(CHAT_PATH) ?? 0;
}

async function openSession(): Promise<string> {
  return (await shell.json<{ sessionId: string }>(CREATE)).sessionId;
}

test('agent session create prints the session as a table or as JSON', async () => {
  const out = await shell.shows(`${CREATE} --metadata user_id=u=1`);
  expect(out).toMatch(/^SESSION +AGENT +CREATED\n[0-9a-f]{32} +c0ffee00-\S+ +20\S+Z\n$/);
  expect(await openSession()).toMatch(/^[0-9a-f]{32}$/);
});

describe('agent chat with a question', () => {
  test('prints words, SQL and rows', async () => {
    expect(await shell.shows(`${CHAT} How many?`)).toBe(
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
    );
  });

  test('prints words alone if the answer has nothing else', async () => {
    expect(await shell.shows(`${CHAT} Hello`)).toBe('You asked: Hello At your service.\n');
  });

  test('prints all of it as JSON', async () => {
    const answer = { sql: expect.any(String), sessionId: null, data: [{}, {}] };
    expect(await shell.json(`${CHAT} 'How many?'`)).toMatchObject(answer);
  });

  test('asks within a session', async () => {
    const session = await openSession();
    await shell.shows(`${CHAT} --session-id ${session} First?`);
    const out = await shell.shows(`${CHAT} --session-id ${session} Second?`);
    expect(out).toContain('Before that: First?');
  });

  test('sends filters, under the other key on request', async () => {
    const plural = `${CHAT} --filter "orders=WHERE region = 'north' AND x=1" 'How many?'`;
    const singular = `${plural} --filter-key table_filter`;
    const where = "FROM orders WHERE region = 'north' AND x=1 GROUP";
    expect(await shell.shows(plural)).toContain(where);
    expect(await shell.shows(singular)).not.toContain('WHERE');
    simulator.setFaults({ filterKey: 'table_filter' });
    expect(await shell.shows(singular)).toContain(where);
  });

  test("reads the other shape, and reports the agent's failure", async () => {
    simulator.setFaults({ chatShape: 'nested' });
    expect(await shell.shows(`${CHAT} 'How many?'`)).toContain('2 kinds of orders');
    simulator.setFaults({ chatError: 'no such\u001B[2Jtable' });
    const failure = 'the agent could not answer: no such?[2Jtable; put the question differently\n';
    const { out, err } = await shell.fails(`${CHAT} 'How many?'`, failure);
    expect([out, err]).toEqual([expect.stringContaining('SQL: '), failure]);
  });

  test('follows the service to a path with a slash', async () => {
    simulator.setFaults({ isSlashRequired: true });
    await shell.shows(`${CHAT} 'How many?'`);
    expect(await openSession()).toMatch(/^[0-9a-f]{32}$/);
  });

  test('removes control characters', async () => {
    const prompt = 'a\u001B]0;title\u0007b\u009B2Jc\u202Ed';
    expect(await shell.shows(`${CHAT} '${prompt}'`)).toContain('You asked: a?]0;title?b?2Jc?d');
    const json = await shell.shows(`${CHAT} --json '${prompt}'`);
    expect(json.replaceAll('\n', '')).toMatch(/^[^\p{Cc}\u202A-\u202E]*$/u);
    expect(JSON.parse(json).response).toContain(prompt);
  });

  test.each<[faults: object, words: string]>([
    [{ status: 500 }, 'the service failed (500: Simulated failure)'],
    [{ status: 429, retryAfter: '0' }, 'too many requests'],
    [{ isSilent: true }, 'no complete answer within the timeout'],
    [{ body: 'html', contentType: 'text/html' }, 'the answer is a web page'],
    [{ body: 'empty' }, 'holds no response'],
    [{ cut: 'length' }, 'ended before it was complete'],
  ])('reports each failure in its own words, and asks once: %j', async (faults, words) => {
    simulator.setFaults({ path: CHAT_PATH, ...faults });
    const before = asked();
    const wait = 'isSilent' in faults ? '--timeout 1s' : '';
    await shell.fails(`${CHAT} ${wait} 'How many?'`, words);
    expect(asked()).toBe(before + 1);
  });

  test('reports a refused key, and an unknown session', async () => {
    simulator.key = 'another';
    await shell.fails(`${CHAT} 'How many?'`, 'the service refused the key (401');
    simulator.key = SHELL_KEY;
    const { err } = await shell.fails(`${CHAT} --session-id none 'How many?'`, 'No such session');
    expect(err).toContain('check --agent-id and --session-id; else');
  });
});

describe('agent chat without a question', () => {
  test('takes one question per line, in its own session, which it ends', async () => {
    const out = await shell.shows(CHAT, { typed: 'First?\n\n  Second?\nexit\nThird?\n' });
    expect(out).toContain('You asked: Second? There are 2 kinds of orders. Before that: First?');
    expect(out).not.toContain('Third?');
    const ended = [...simulator.requests.countByPath.keys()].at(-1) ?? '';
    expect(ended).toMatch(/^\/copilot\/v1\/session\/[0-9a-f]{32}$/);
  });

  test('continues a session that the user names, and leaves it open', async () => {
    const named = `${CHAT} --session-id ${await openSession()}`;
    await shell.shows(named, { typed: 'First?' });
    expect(await shell.shows(`${named} Second?`)).toContain('Before that: First?');
  });

  test('continues after a failure, and reports it at the end', async () => {
    simulator.setFaults({ path: CHAT_PATH, status: 500, times: 1 });
    const typed = 'First?\nSecond?\n';
    const { out } = await shell.fails(CHAT, 'the service failed', { typed });
    expect(out).toContain('You asked: Second?');
  });

  test('ends at once if it cannot open a session', async () => {
    simulator.setFaults({ path: '/copilot/v1/session', status: 500 });
    const before = asked();
    await shell.fails(CHAT, 'the service failed', { typed: 'First?\n' });
    expect(asked()).toBe(before);
  });
});

test.each([
  ['agent talk', 'there is no action "talk", only session create, chat'],
  ['agent session list', 'did you mean agent session create?'],
  ['agent chat x', 'expected --agent-id UUID'],
  ['agent chat --agent-id sales x', '--agent-id: expected the UUID'],
  [`${CREATE}0`, '--agent-id: expected the UUID'],
  [`${CREATE} x`, 'unexpected "x"'],
  [`${CREATE} --metadata u`, 'expected --metadata as NAME=VALUE, got "u"'],
  [`${CHAT} ' '`, 'PROMPT: expected a text'],
  [`${CHAT} --filter orders x`, 'expected --filter as TABLE=WHERE, got "orders"'],
  [`${CHAT} --filter 'orders= ' x`, 'expected --filter as'],
  [`${CHAT} --filter a=1 --filter a=2 x`, '--filter has "a" twice'],
  [`${CHAT} --filter-key filters x`, '--filter-key: expected table_filters or table_filter'],
  [`${CHAT} --session-id '' x`, '--session-id: expected a text'],
  [`${CHAT} --timeout 1h x`, '--timeout: expected a duration such as 10s or 5m, at most 15m'],
  [`${CHAT} --api-key k x`, 'unknown option "--api-key"'],
])('mistakes on the command line are reported, and nothing is sent: %s', (command, message) =>
  shell.mistypes(command, message),
);
