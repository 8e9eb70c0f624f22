// The program as a process of its own, again and again on one directory: started, killed, stopped, asked.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import type { StatusDocument } from '../../../src/status/problems.ts';
import { start, tempDirectory, until, type Finished, type Running } from '../../support/program.ts';
import type { Life } from './ledger.ts';

export interface BridgeOptions {
  readonly sourceUrl: string;
  readonly services: readonly string[];
  /** The queue's; a temporary one where it is not given. */
  readonly directory?: string;
  /** Blocks of the configuration that take the place of the usual ones. */
  readonly changes?: Readonly<Record<string, unknown>>;
}

export interface LifeOptions {
  readonly failpoint?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Numbers of points by state, of one service or of all. */
export interface AccountNumbers {
  readonly made: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly setAside: number;
  readonly evicted: number;
  /** What the sums leave. */
  readonly queued: number;
  /** What rows in the file hold. */
  readonly stored: number;
  readonly samples: ReadonlyMap<string, number>;
}

export class Bridge {
  readonly directory: string;
  readonly lives: Life[] = [];
  readonly #options: BridgeOptions;
  readonly #files = tempDirectory();
  #process: BridgeProcess | null = null;

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.directory = options.directory ?? join(this.#files.path, 'queue');
  }

  /** Starts a process; `changes` apply from this start on. */
  start(options: LifeOptions = {}, changes: Readonly<Record<string, unknown>> = {}): BridgeProcess {
    const config = this.#files.write('prom2otlp.yaml', JSON.stringify(this.#config(changes)));
    const { failpoint, environment = {} } = options;
    const armed = failpoint === undefined ? {} : { PROM2OTLP_FAILPOINT: failpoint };
    const running = start(['run', '--config', config], { ...environment, ...armed });
    const fromMs = Date.now();
    const started = new BridgeProcess(running);
    this.#process = started;
    void running.finished.then(() => {
      const isKilled = running.child.signalCode === 'SIGKILL';
      this.lives.push({ fromMs, toMs: Date.now(), isKilled });
    });
    return started;
  }

  /** Runs until the queue is empty, then stops it cleanly. */
  async finish(timeoutMs = 60_000): Promise<void> {
    const last = this.start();
    await last.ready();
    await last.drained(timeoutMs);
    await last.stop();
  }

  /** What the files say now, which stay as they are; no process must be at work on them. */
  account(): AccountNumbers {
    const copy = join(this.#files.path, 'copy');
    cpSync(this.directory, copy, { recursive: true, force: true });
    try {
      return readAccount(copy);
    } finally {
      rmSync(copy, { recursive: true });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.kill();
    this.#files[Symbol.dispose]();
  }

  #config(changes: Readonly<Record<string, unknown>>): unknown {
    const { sourceUrl, services } = this.#options;
    return {
      api: { base_url: sourceUrl, key: 'a-key', timeout: '1s' },
      services: services.map(id => ({ id })),
      metrics: { interval: '1s' },
      queue: { directory: this.directory },
      status: { listen: '127.0.0.1:0' },
      telemetry: { enabled: false },
      ...this.#options.changes,
      ...changes,
    };
  }
}

export class BridgeProcess {
  readonly #running: Running;

  constructor(running: Running) {
    this.#running = running;
  }

  get child(): ChildProcess {
    return this.#running.child;
  }

  get stderr(): string {
    return this.#running.stderr();
  }

  get finished(): Promise<Finished> {
    return this.#running.finished;
  }

  /** True once it has said that it has started. */
  get isReady(): boolean {
    return this.#url() !== undefined;
  }

  /** Until it says that it has started. */
  async ready(timeoutMs = 30_000): Promise<void> {
    await until('the program has started', () => this.#url() ?? this.#ended(), timeoutMs);
  }

  async status(): Promise<StatusDocument> {
    const response = await fetch(`${this.#url() ?? ''}/status.json`);
    return (await response.json()) as StatusDocument;
  }

  /** Until it has scraped, and everything that was stored at some moment has been delivered. */
  async drained(timeoutMs: number): Promise<void> {
    await until(
      'the queue is empty',
      async () => {
        const { state, queue } = await this.status();
        return state === 'ready' && queue.every(({ rows }) => rows === 0);
      },
      timeoutMs,
    );
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.finished;
  }

  /** SIGTERM; throws when it does not end cleanly. */
  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    const { code, stderr } = await this.finished;
    if (code !== 0)
      throw new Error(`the program ended with ${String(code)}: ${stderr.slice(-2000)}`);
  }

  #url(): string | undefined {
    return /"status":"(http[^"]+)"/.exec(this.stderr)?.[1];
  }

  #ended(): undefined {
    const { exitCode, signalCode } = this.child;
    if (exitCode === null && signalCode === null) return undefined;
    const how = String(exitCode ?? signalCode);
    throw new Error(
      `the program ended with ${how} before it had started: ${this.stderr.slice(-2000)}`,
    );
  }
}

/** The account in the file of a queue's directory, summed over all services. */
function readAccount(directory: string): AccountNumbers {
  const path = join(directory, 'queue.sqlite');
  const isThere = existsSync(path) && statSync(path).size > 0;
  const db = new DatabaseSync(isThere ? path : ':memory:');
  try {
    // As on a directory where no process has come so far.
    if (!isThere) db.exec('CREATE TABLE account (key, count); CREATE TABLE batch (points)');
    const counts = new Map<string, number>();
    for (const row of db.prepare('SELECT key, sum(count) AS count FROM account GROUP BY key').all())
      counts.set(String(row['key']), Number(row['count']));
    const get = (state: string): number => counts.get(`point/${state}`) ?? 0;
    const [made, accepted, rejected] = [get('made'), get('accepted'), get('rejected')];
    const [setAside, evicted] = [get('set_aside'), get('evicted')];
    const stored = Number(
      db.prepare('SELECT total(points) AS points FROM batch').get()?.['points'],
    );
    const samples = [...counts].filter(([key]) => key.startsWith('sample/'));
    const queued = made - accepted - rejected - setAside - evicted;
    return {
      made,
      accepted,
      rejected,
      setAside,
      evicted,
      queued,
      stored,
      samples: new Map(samples),
    };
  } finally {
    db.close();
  }
}

/** Runs a command to its end; null when it cannot be run or fails. */
export async function tryCommand(command: string, args: readonly string[]): Promise<string | null> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0 ? output : null;
  } catch {
    return null;
  }
}
