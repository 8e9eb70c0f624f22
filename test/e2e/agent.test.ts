// A conversation with the agent at a terminal: the test types keys and reads the screen.

import { spawn } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { BIN, environmentWith, run, until } from '../support/program.ts';
import {
  CTRL_C,
  CTRL_D,
  type InTerminal,
  reasonForNoTerminal,
  startInTerminal,
} from '../support/pseudo-terminal.ts';
import { SHELL_ENVIRONMENT, SHELL_KEY, useShell } from '../support/service-shell.ts';

const CHAT = 'agent chat --agent-id c0ffee00-0000-4000-8000-000000000000';
const CHAT_PATH = '/copilot/v1/chat';
const PROMPT = '> ';

const skip = reasonForNoTerminal();
const shell = await useShell();
const { simulator } = shell;

async function converse(options = ''): Promise<InTerminal> {
  const terminal = startInTerminal(shell.wordsOf(`${CHAT} ${options}`), SHELL_ENVIRONMENT);
  await answered(terminal, 'Ask the agent');
  return terminal;
}

function asked(): number {
  return simulator.requests.countByPath.get(CHAT_PATH) ?? 0;
}

/** Waits until the screen shows the text, and then the prompt. */
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
    const terminal = await converse('--timeout 4s');
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
    // It is still the same session: it knows the question before, which got no answer.
    expect(terminal.shown()).toContain('Before that: Still there?');
    terminal.type(CTRL_D);
    expect(await terminal.code).toBe(0);
    expect(endedSessions()).toHaveLength(1);
    expect(terminal.shown()).not.toContain(SHELL_KEY);
  });

  test('ends with Ctrl-C at the prompt, and with exit', async () => {
    const before = endedSessions().length;
    for (const keys of [CTRL_C, 'exit\r']) {
      const terminal = await converse();
      terminal.type(keys);
      expect(await terminal.code).toBe(0);
    }
    expect(endedSessions()).toHaveLength(before + 2);
  });
});

describe('the session ends', () => {
  test.skipIf(skip !== null)('when the terminal is closed', async () => {
    const before = endedSessions().length;
    const terminal = await converse();
    // Without `script` nobody holds the terminal open.
    terminal.child.kill('SIGKILL');
    await until('the session has ended', () => endedSessions().length > before);
  });

  test.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)('at a %s on a pipe', async signal => {
    const before = endedSessions().length;
    const child = spawn(process.execPath, [BIN, ...shell.wordsOf(CHAT)], {
      env: environmentWith(SHELL_ENVIRONMENT),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const exit = new Promise(resolve => child.on('exit', code => resolve(code)));
    let shown = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
    child.stdin.write('How many?\n');
    await until('the answer has come', () => shown.includes('You asked: How many?'));
    child.kill(signal);
    expect(await exit).toBe(0);
    expect(endedSessions()).toHaveLength(before + 1);
  });

  test('at a signal that comes while a question runs, which is given up', async () => {
    const [before, asks] = [endedSessions().length, asked()];
    simulator.setFaults({ path: CHAT_PATH, isSilent: true });
    const child = spawn(process.execPath, [BIN, ...shell.wordsOf(CHAT)], {
      env: environmentWith(SHELL_ENVIRONMENT),
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    const exit = new Promise(resolve => child.on('exit', code => resolve(code)));
    let told = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
    child.stdin.write('How many?\nAnd now?\n');
    await until('it asks', () => asked() > asks);
    child.kill('SIGTERM');
    expect(await exit).toBe(1);
    simulator.resetFaults();
    expect(told).toContain('given up: there is no answer');
    expect(asked()).toBe(asks + 1);
    expect(endedSessions()).toHaveLength(before + 1);
  });
});

test('the list has the id of the agent', async () => {
  const { code, stdout } = await run(shell.wordsOf('agent list'), SHELL_ENVIRONMENT);
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining('c0ffee00-0000-4000-8000-000000000000'),
  ]);
});

test('a question from a pipe and one as an argument give the same, without prompt or progress', async () => {
  const chat = (words: string) => run(shell.wordsOf(`${CHAT} ${words}`), SHELL_ENVIRONMENT);
  const { code, stdout, stderr } = await chat('How many?');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('You asked: How many?');
  // With nothing to read, the conversation ends at once.
  expect(await chat('')).toEqual({ code: 0, stdout: '', stderr: '' });
});
