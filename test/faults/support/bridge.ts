// Runs the program as a process, repeatedly on one directory: starts, kills and stops it, and reads its account.

import { cpSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { type Running, start, tempDirectory, until } from '../../support/program.ts';

/** Each process sends its number, from 1 on, with every request: the sink may learn late that a process has ended. */
export const LIFE_HEADER = 'x-life';

/** A process, from its start to its end. */
export interface Life {
  readonly number: number;
  /** Whether SIGKILL ended it. */
  isKilled: boolean;
}

export interface BridgeOptions {
  readonly sourceUrl: string;
  readonly services: readonly string[];
  /** The directory of the queue; a temporary one by default. */
  readonly directory?: string;
  /** Blocks of the configuration that replace the usual ones. */
  readonly changes?: Readonly<Record<string, unknown>>;
  /** Called before each process is started. */
  readonly onStart?: (life: Life) => void;
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
  /** The points made minus all the numbers above. */
  readonly queued: number;
  /** The points of the rows in the file. */
  readonly stored: number;
  readonly samples: ReadonlyMap<string, number>;
}

export class Bridge {
  readonly directory: string;
  readonly #options: BridgeOptions;
  readonly #files = tempDirectory();
  /** In the order of their starts. */
  readonly #processes = new Map<Running, Life>();

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.directory = options.directory ?? join(this.#files.path, 'queue');
  }

  /** Starts a process; `changes` apply from this start on. */
  start(options: LifeOptions = {}, changes: Readonly<Record<string, unknown>> = {}): Running {
    const life = { number: this.#processes.size + 1, isKilled: false };
    this.#options.onStart?.(life);
    const text = JSON.stringify(this.#config(life, changes));
    const config = this.#files.write('prom2otlp.yaml', text);
    const { failpoint, environment = {} } = options;
    const armed = failpoint === undefined ? {} : { PROM2OTLP_FAILPOINT: failpoint };
    const running = start(['run', '--config', config], { ...environment, ...armed });
    running.child.on('exit', (_code, signal) => (life.isKilled = signal === 'SIGKILL'));
    this.#processes.set(running, life);
    return running;
  }

  get lives(): readonly Life[] {
    return [...this.#processes.values()];
  }

  /** The number of a process. */
  numberOf(process: Running): number {
    return this.#processes.get(process)?.number ?? Number.NaN;
  }

  /** Runs until the queue is empty, then stops it cleanly. */
  async finish(): Promise<void> {
    const last = this.start();
    await last.ready();
    await drained(last);
    await last.stop();
  }

  /** Throws when no process is running. */
  expectAlive(): void {
    const processes = [...this.#processes.keys()];
    if (processes.every(process => process.hasEnded))
      throw new Error(`the program has ended: ${processes.at(-1)?.stderr().slice(-2000) ?? ''}`);
  }

  /** The account in the files, read from a copy; no process may be using the files. */
  account(): AccountNumbers {
    const copy = join(this.#files.path, 'copy');
    mkdirSync(copy);
    // The directory does not exist if no process has come far enough.
    if (existsSync(this.directory)) cpSync(this.directory, copy, { recursive: true });
    try {
      return readAccount(copy);
    } finally {
      rmSync(copy, { recursive: true });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#processes.keys()) await process.kill();
    this.#files[Symbol.dispose]();
  }

  #config({ number }: Life, changes: Readonly<Record<string, unknown>>): unknown {
    const { sourceUrl, services } = this.#options;
    const headers = { [LIFE_HEADER]: String(number) };
    const { otlp, ...blocks } = { otlp: {}, ...this.#options.changes, ...changes };
    return {
      api: { base_url: sourceUrl, key: 'a-key', timeout: '1s' },
      services: services.map(id => ({ id })),
      metrics: { interval: '1s' },
      otlp: { timeout: PATIENT, ...otlp, headers },
      queue: { directory: this.directory },
      status: { listen: '127.0.0.1:0' },
      telemetry: { enabled: false },
      ...blocks,
    };
  }
}

/** A long timeout, so that a busy machine does not look like a back end that does not answer. */
const PATIENT = '60s';
/** How long a step may take on a busy machine; on an idle one it takes about a second. */
export const WAIT_MS: number = 120_000;

/** Waits until the queue is empty and the program is ready. */
export async function drained(process: Running, timeoutMs: number = WAIT_MS): Promise<void> {
  const isDrained = async (): Promise<boolean> => {
    const { state, queue } = await process.status();
    return state === 'ready' && queue.every(({ rows }) => rows === 0);
  };
  await until('the queue is empty', isDrained, timeoutMs);
}

/** The account in the file of a queue's directory, summed over all services. */
export function readAccount(directory: string): AccountNumbers {
  const path = join(directory, 'queue.sqlite');
  const isThere = existsSync(path) && statSync(path).size > 0;
  const db = new DatabaseSync(isThere ? path : ':memory:');
  try {
    // Uses empty tables if no process has come far enough to make the file.
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
