// The program in a terminal: a pseudo-terminal that `script` of util-linux opens (on every Debian). What is typed goes
// in as keys, Ctrl-C among them; what the screen would show comes out.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { BIN } from './program.ts';

export const CTRL_C = '\u0003';
export const CTRL_D = '\u0004';

/** What tells a terminal to move or colour: it begins with Escape. */
const ESCAPE = '\u001B';
const COMMAND = new RegExp(ESCAPE + String.raw`\[[\d;?]*[A-Za-z]`, 'g');

export interface InTerminal {
  readonly child: ChildProcess;
  /** Presses these keys; `\r` is Enter. */
  type(keys: string): void;
  /** What was shown since the start, escape sequences left out. */
  shown(): string;
  /** Of the program. */
  readonly code: Promise<number | null>;
}

/** Why there can be no pseudo-terminal here; null where there can. With CI=true that is a failure. */
export function reasonForNoTerminal(): string | null {
  const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });
  if ((stdout ?? '').includes('util-linux')) return null;
  const reason = 'there is no `script` of util-linux here to open a terminal with';
  if (process.env['CI'] === 'true') throw new Error(reason);
  console.log(`skipped: ${reason}`);
  return reason;
}

/** Starts the program with a screen of 100 by 30. */
export function startInTerminal(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): InTerminal {
  const entry = process.env['PROM2OTLP_ENTRY'];
  const env = {
    PATH: process.env['PATH'] ?? '',
    TERM: 'xterm',
    SHELL: '/bin/sh',
    ...(entry === undefined ? {} : { PROM2OTLP_ENTRY: entry }),
    ...environment,
  };
  const command = [process.execPath, BIN, ...args].map(quoted).join(' ');
  const script = `stty cols 100 rows 30; exec ${command}`;
  const child = spawn('script', ['-qec', script, '/dev/null'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  return {
    child,
    type: keys => void child.stdin.write(keys),
    shown: () => shown.replaceAll(COMMAND, '').replaceAll('\r', ''),
    code: new Promise(resolve => child.on('close', code => resolve(code))),
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
