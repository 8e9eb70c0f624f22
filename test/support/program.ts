// Starts the program as a user does: `node bin/prom2otlp.js VERB …` as a child process. PROM2OTLP_ENTRY chooses
// whether the sources or the bundle run.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** What it has written so far. */
  stdout(): string;
  stderr(): string;
  readonly finished: Promise<Finished>;
}

/** What a user starts. */
export const BIN: string = new URL('../../bin/prom2otlp.js', import.meta.url).pathname;

/** Starts the program; the environment holds nothing but what is given and PATH. */
export function start(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Running {
  return startUnder([], args, environment);
}

/**
 * The same under another command, such as one that gives it a file system of its own; `flags` are for Node.
 */
export function startUnder(
  wrapper: readonly string[],
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Running {
  const entry = process.env['PROM2OTLP_ENTRY'];
  const env = {
    PATH: process.env['PATH'] ?? '',
    ...(entry === undefined ? {} : { PROM2OTLP_ENTRY: entry }),
    ...environment,
  };
  const [command = '', ...rest] = [...wrapper, process.execPath, ...flags, BIN, ...args];
  const child = spawn(command, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const finished = new Promise<Finished>(resolve => {
    child.on('close', code => resolve({ code, stdout, stderr }));
  });
  return { child, stdout: () => stdout, stderr: () => stderr, finished };
}

/** Runs the program to its end. */
export function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  return start(args, environment).finished;
}

/** The address of the status page, once the program has said it. */
export function statusUrl(running: Running): string | undefined {
  return /"status":"(http[^"]+)"/.exec(running.stderr())?.[1];
}

/** Waits until `check` gives something, looking every 50 ms; fails after `timeoutMs` with what was last seen. */
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
