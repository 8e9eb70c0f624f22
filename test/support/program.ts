// Starts the program as a user does: `node bin/prom2otlp.js VERB …` as a child process. The bundle runs, which is what
// ships (bundle.ts); with PROM2OTLP_ENTRY=src/main.ts the sources do.

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import type { StatusDocument } from '../../src/status/status-report.ts';

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Uses a new connection for each request, so that the program never closes one just as it is used again. */
const ONCE = new Agent({ pipelining: 0 });

/** A process of the program. */
export class Running {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  #stdout = '';
  #stderr = '';

  constructor(child: ChildProcessByStdio<null, Readable, Readable>) {
    this.child = child;
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    this.finished = new Promise(resolve => {
      child.on('close', code => resolve({ code, stdout: this.#stdout, stderr: this.#stderr }));
    });
  }

  /** The text written to stdout so far. */
  stdout(): string {
    return this.#stdout;
  }

  stderr(): string {
    return this.#stderr;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The address of the status page, once the program has logged it. */
  get statusUrl(): string | undefined {
    return /"status":"(http[^"]+)"/.exec(this.#stderr)?.[1];
  }

  /** Waits until the program has started, and returns the address of the status page. Throws when it ends before. */
  ready(timeoutMs = 120_000): Promise<string> {
    const look = (): string | undefined => {
      if (this.statusUrl === undefined && this.hasEnded)
        throw new Error(`the program ended before it had started: ${this.#stderr.slice(-2000)}`);
      return this.statusUrl;
    };
    return until('the program has started', look, timeoutMs);
  }

  /** The status document; null while the status address is not known. */
  async statusIfKnown(): Promise<StatusDocument | null> {
    return this.statusUrl === undefined ? null : await this.status();
  }

  /** Waits until `check` accepts the status document, and returns the result of `check`. */
  shows<T>(
    what: string,
    check: (status: StatusDocument) => T | undefined | false,
    timeoutMs?: number,
  ): Promise<T> {
    const look = async (): Promise<T | undefined | false> => {
      const status = await this.statusIfKnown();
      return status === null ? undefined : check(status);
    };
    return until(what, look, timeoutMs);
  }

  async status(): Promise<StatusDocument> {
    const url = `${this.statusUrl ?? ''}/status.json`;
    const { body } = await request(url, { dispatcher: ONCE });
    return (await body.json()) as StatusDocument;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.finished;
  }

  /** Sends SIGTERM, and throws when the program does not end cleanly. */
  async stop(): Promise<Finished> {
    this.child.kill('SIGTERM');
    const finished = await this.finished;
    if (finished.code === 0) return finished;
    throw new Error(`the program ended with ${finished.code}: ${finished.stderr.slice(-2000)}`);
  }

  /** Sends SIGTERM twice: after the second one, the program does not wait for an absent back end. */
  async stopNow(): Promise<void> {
    this.child.kill('SIGTERM');
    await until('it stops', () => this.#stderr.includes('"stopping:'));
    this.child.kill('SIGTERM');
    await this.finished;
  }

  /**
   * The program's resident memory in bytes: now, the peak since its start, and the part of files, such as Node's code,
   * which the kernel takes back before it kills a process.
   */
  get memory(): { readonly now: number; readonly peak: number; readonly ofFiles: number } {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    const of = (name: string): number =>
      1024 * Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1]);
    return { now: of('VmRSS'), peak: of('VmHWM'), ofFiles: of('RssFile') };
  }
}

/** The script that a user starts. */
export const BIN: string = new URL('../../bin/prom2otlp.js', import.meta.url).pathname;

/** The environment of the program: its path, which code runs, and the given variables. */
export function environmentWith(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { PATH, PROM2OTLP_ENTRY = 'dist/main.js' } = process.env;
  return { PATH, PROM2OTLP_ENTRY, ...variables };
}

/** Starts the program. */
export function start(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Running {
  return startUnder([], args, environment);
}

/** Starts the program under another command, such as one with a separate file system; `flags` are for Node. */
export function startUnder(
  wrapper: readonly string[],
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Running {
  const env = environmentWith(environment);
  const [command = '', ...rest] = [...wrapper, process.execPath, ...flags, BIN, ...args];
  return new Running(spawn(command, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
}

/** Runs the program to its end. */
export function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  return start(args, environment).finished;
}

/** Calls `check` every 50 ms until it returns neither undefined nor false. Throws after `timeoutMs`, naming `what`. */
export async function until<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 20_000,
): Promise<T> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > endMs) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

/** A directory that is removed with the test, and files in it. */
export function tempDirectory(): {
  path: string;
  write(name: string, text: string): string;
} & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'prom2otlp-test-'));
  return {
    path,
    write: (name, text) => {
      const file = join(path, name);
      writeFileSync(file, text);
      return file;
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
