// Child processes of the real parts: commands that run to their end, and servers that are started, waited
// for and stopped. A process is ended by its own pid only, and never outlives the one that started it.

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Finished, until } from '../../support/program.ts';
import type { Running } from './part.ts';

const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;
const READY_MS = 30_000;
const STOP_MS = 15_000;
const LOG_TAIL_LINES = 20;

export interface CommandOptions {
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly timeoutMs?: number;
}

/** Runs a command to its end, whatever its exit code. Throws when it cannot be started. */
export function runAny(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.folder,
      env: { ...process.env, ...options.env },
      timeout: options.timeoutMs ?? 120_000,
      killSignal: 'SIGKILL',
    });
    const forget = endWithParent(child);
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        if (output[stream].length < OUTPUT_MAX_BYTES) output[stream] += text;
      });
    }
    child.on('error', reject);
    child.on('close', code => {
      forget();
      resolve({ code, ...output });
    });
    // A command that ends without reading its input is judged by its exit code, not by the broken pipe.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}

/** Runs a command that must succeed, and returns its stdout. Throws with the end of its stderr when it fails. */
export async function run(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await runAny(command, args, options);
  if (code === 0) return stdout;
  const end = lastLines(stderr.trim() === '' ? stdout : stderr);
  throw new Error(`cannot run ${command} ${args.join(' ')}: exit code ${code}\n${end}`);
}

/** Finds a program on PATH or in the folders of the system's daemons. Null if it is in none of them. */
export function findProgram(name: string): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map(folder => join(folder, name)).find(path => existsSync(path)) ?? null;
}

export interface ServerOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Working folder; the output goes to `<name>.log` in it. */
  readonly folder: string;
  readonly isReady: () => Promise<boolean>;
}

export interface RunningServer extends Running {
  readonly pid: number;
  readonly log: string;
  /** Resolves to the exit code, null after a signal. */
  readonly exited: Promise<number | null>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server and waits until it is ready. Throws with the end of its log when it does not come up. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const log = join(options.folder, `${options.name}.log`);
  const output = openSync(log, 'a');
  const child = spawn(options.command, options.args, {
    cwd: options.folder,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const forget = endWithParent(child);
  const exited = new Promise<number | null>(resolve => {
    child.on('error', () => resolve(null));
    child.on('exit', code => resolve(code));
  }).finally(forget);
  const server: RunningServer = {
    pid: child.pid ?? 0,
    log,
    exited,
    stop: signal => stopChild(child, exited, signal ?? 'SIGTERM'),
  };
  const isReady = async (): Promise<boolean> => {
    if (await answers(options.isReady)) return true;
    const hasEnded =
      child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
    if (hasEnded) throw new Error('it ended at once');
    return false;
  };
  try {
    await until('it answers', isReady, READY_MS);
    return server;
  } catch (error) {
    await server.stop('SIGKILL');
    const cause = `${(error as Error).message}; its log (${log}) ends with`;
    const end = lastLines(await readFile(log, 'utf8'));
    throw new Error(`cannot start ${options.name}: ${cause}\n${end}`, { cause: error });
  }
}

async function answers(isReady: () => Promise<boolean>): Promise<boolean> {
  try {
    return await isReady();
  } catch {
    return false;
  }
}

async function stopChild(
  child: ChildProcess,
  exited: Promise<unknown>,
  signal: NodeJS.Signals,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  const patience = new AbortController();
  const tooLong = delay(STOP_MS, 'too long' as const, { signal: patience.signal }).catch(
    () => null,
  );
  if ((await Promise.race([exited, tooLong])) === 'too long') child.kill('SIGKILL');
  patience.abort();
  await exited;
}

/** Kills the child when this process ends before it; call the result once the child has ended. */
function endWithParent(child: ChildProcess): () => void {
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  return () => process.off('exit', kill);
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
}

const portsGiven = new Set<number>();

/** A TCP port of the loopback interface that is free now and was not given before. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise(resolve => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('cannot find a free port');
  if (portsGiven.has(address.port)) return freePort();
  portsGiven.add(address.port);
  return address.port;
}

/** True when a GET of the address answers 2xx: the usual readiness test. */
export async function isUp(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2000) });
  await answer.arrayBuffer();
  return answer.ok;
}

/** True when something listens on the port: the readiness test for servers without a page. */
export function isListening(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
