// Runs the program in a pseudo-terminal that `script` of util-linux opens (part of every Debian). In: keys, Ctrl-C among
// them. Out: the text that the screen would show.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { BIN, environmentWith } from './program.ts';

export const CTRL_C = '\u0003';
export const CTRL_D = '\u0004';

/** The first character of an escape sequence, which moves the cursor or sets a colour. */
const ESCAPE = '\u001B';
const COMMAND = new RegExp(ESCAPE + String.raw`\[[\d;?]*[A-Za-z]`, 'g');

export interface InTerminal {
  readonly child: ChildProcess;
  /** Presses these keys; `\r` is Enter. */
  type(keys: string): void;
  /** The text shown since the start, without escape sequences. */
  shown(): string;
  /** The exit code of the program. */
  readonly code: Promise<number | null>;
}

/** The reason why this machine cannot open a pseudo-terminal; null if it can. With CI=true, a reason is thrown. */
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
  const env = environmentWith({ TERM: 'xterm', SHELL: '/bin/sh', ...environment });
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
