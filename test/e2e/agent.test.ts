// A conversation with the agent as a person at a terminal has it: keys go in, the screen comes out.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { run, until } from '../support/program.ts';
import {
  CTRL_C,
  CTRL_D,
  type InTerminal,
  reasonForNoTerminal,
  startInTerminal,
} from '../support/pseudo-terminal.ts';

const CANARY = 'canary-0d5be771';
const AGENT = 'c0ffee00-0000-4000-8000-000000000000';
const CHAT_PATH = '/copilot/v1/chat';
const PROMPT = '> ';

const skip = reasonForNoTerminal();
let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ clock, key: CANARY });
});
afterEach(() => simulator.resetFaults());
afterAll(() => simulator.close());

function chatArgs(...more: string[]): readonly string[] {
  return ['agent', 'chat', '--base-url', simulator.url, '--agent-id', AGENT, ...more];
}

function converse(...more: string[]): InTerminal {
  return startInTerminal(chatArgs(...more), { PROM2OTLP_API_KEY: CANARY });
}

function asked(): number {
  return simulator.requests.countByPath.get(CHAT_PATH) ?? 0;
}

/** Waits until the screen shows the text, and the prompt behind it. */
async function answered(terminal: InTerminal, text: string): Promise<void> {
  await until(`${text}, then the prompt; on the screen:\n${terminal.shown()}`, () => {
    const shown = terminal.shown();
    const at = shown.lastIndexOf(text);
    return at >= 0 && shown.slice(at).includes(`\n${PROMPT}`);
  });
}

function endedSessions(): readonly string[] {
  return [...simulator.requests.countByPath.keys()].filter(path => path.includes('/session/'));
}

describe.skipIf(skip !== null)('a conversation in a terminal', () => {
  test('goes on after a 500, a timeout and Ctrl-C, and ends with Ctrl-D', async () => {
    const terminal = converse('--timeout', '4s');
    await answered(terminal, 'Ask the agent');
    terminal.type('How many?\r');
    await answered(terminal, 'You asked: How many?');
    expect(terminal.shown()).toContain('SQL: SELECT status');
    expect(terminal.shown()).toMatch(/^shipped {4}1234$/m);

    simulator.setFaults({ path: CHAT_PATH, status: 500 });
    terminal.type('And now?\r');
    await answered(terminal, 'the service failed (500: Simulated failure)');

    simulator.resetFaults();
    simulator.setFaults({ path: CHAT_PATH, isSilent: true });
    terminal.type('And then?\r');
    await until('it shows how long it takes', () =>
      /asking the agent: \d s/.test(terminal.shown()),
    );
    await answered(
      terminal,
      'no complete answer within the timeout (4000 ms); allow more time with --timeout',
    );

    const before = asked();
    terminal.type('Still there?\r');
    await until('it asks', () => asked() > before);
    terminal.type(CTRL_C);
    await answered(terminal, 'given up: there is no answer');

    simulator.resetFaults();
    terminal.type('Again?\r');
    await answered(terminal, 'You asked: Again?');
    // The same session still: it knows what came before, though that got no answer.
    expect(terminal.shown()).toContain('Before that: Still there?');
    terminal.type(CTRL_D);
    expect(await terminal.code).toBe(0);
    expect(endedSessions()).toHaveLength(1);
    expect(terminal.shown()).not.toContain(CANARY);
  });

  test('ends with Ctrl-C at the prompt, and with exit', async () => {
    const before = endedSessions().length;
    const first = converse();
    await answered(first, 'Ask the agent');
    first.type(CTRL_C);
    expect(await first.code).toBe(0);
    const second = converse();
    await answered(second, 'Ask the agent');
    second.type('exit\r');
    expect(await second.code).toBe(0);
    expect(endedSessions()).toHaveLength(before + 2);
  });

  test('prints no control characters', async () => {
    simulator.setFaults({ chatShape: 'nested', chatError: '\u001B]0;title\u0007\u009B2J' });
    const terminal = converse();
    await answered(terminal, 'Ask the agent');
    terminal.type('How many?\r');
    await answered(terminal, 'the agent could not answer: ?]0;title??2J');
    terminal.type('exit\r');
    expect(await terminal.code).toBe(0);
  });
});

test('a question from a pipe and one as an argument give the same, without prompt or progress', async () => {
  const environment = { PROM2OTLP_API_KEY: CANARY };
  const { code, stdout, stderr } = await run(chatArgs('How many?'), environment);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('You asked: How many?');
  // There is nothing to read: a conversation that is over at once.
  const empty = await run(chatArgs(), environment);
  expect(empty).toEqual({ code: 0, stdout: '', stderr: '' });
  const wrong = await run(chatArgs('--filter', 'orders', 'How many?'), environment);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toBe(
    'cannot run agent chat: expected --filter as NAME=VALUE, got "orders"; see prom2otlp agent chat --help\n',
  );
});
