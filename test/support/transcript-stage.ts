// The stage of a transcript (test/transcripts): its directory, servers and clock, and what a transcript can type besides
// prom2otlp.

import { readFileSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { Batch } from '../../src/model/batch.ts';
import { openQueue } from '../../src/pipeline/queue/open-queue.ts';
import { serveStatus } from '../../src/status/status-server.ts';
import type { RecordedRequest } from './http-server.ts';
import { logsBatch, metricsBatch } from './otlp-requests.ts';
import { HASTY_CLOCK, type ServiceShell, SHELL_KEY } from './service-shell.ts';
import type { Printed } from './verb-context.ts';

const START_MS = Date.UTC(2026, 2, 4, 9);
const MINUTE_MS = 60_000;
/** How long `cycle` waits for a back end that takes nothing. */
const CYCLE_MS = 500;

/** Stands still unless the transcript lets time pass; waits take as long as they do for the other tests of verbs. */
export class StageClock implements Clock {
  #nowMs = START_MS;

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return HASTY_CLOCK.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return HASTY_CLOCK.sleep(ms, signal);
  }

  after(ms: number, run: () => void): () => void {
    return HASTY_CLOCK.after(ms, run);
  }

  forward(ms: number): void {
    this.#nowMs += ms;
  }
}

/** The world of one transcript. */
export interface Stage {
  readonly shell: ServiceShell;
  readonly clock: StageClock;
  /** What stands for `$NAME`, before a line is split into words: addresses, and what the transcript has set. */
  readonly variables: Map<string, string>;
  /** What $OTHER answers next; the last answer is repeated. A verb forgets those before it. */
  readonly answers: { readonly status: number; readonly body: string }[];
  /** The requests to $OTHER. */
  readonly received: RecordedRequest[];
  /** How many requests to the simulator `requests` has shown. */
  shown: number;
  /** The daemon that the transcript has started; null before. */
  daemon: Daemon | null;
  /** Ends what the transcript has started. */
  readonly ends: (() => Promise<void>)[];
}

type Command = (
  stage: Stage,
  rest: string,
  input: string,
) => Partial<Printed> | Promise<Partial<Printed>>;

export const COMMANDS: Readonly<Record<string, Command>> = {
  /** Writes a file. */
  write: ({ shell }, name, input) => {
    shell.files.write(name, input);
    return {};
  },
  cat: (_, name) => ({ out: readFileSync(name, 'utf8') }),
  /** Shows who may read a file. */
  mode: (_, name) => ({ out: (statSync(name).mode & 0o777).toString(8) }),
  /** Sets the faults of the simulated service, in place of those before. */
  faults: ({ shell }, json) => {
    shell.simulator.resetFaults();
    shell.simulator.setFaults(JSON.parse(json));
    return {};
  },
  /** Switches off these services of the simulated service, and all others on. */
  stop: ({ shell }, ids) => {
    shell.simulator.world.stopped = ids.split(' ');
    return {};
  },
  /** `answer STATUS BODY`: a further answer of $OTHER to the next verb; a long body follows, as in a file. */
  answer: ({ answers }, rest, input) => {
    const [, status = '', body = ''] = /^(\d+) ?(.*)$/.exec(rest) ?? [];
    answers.push({ status: Number(status), body: body + input });
    return {};
  },
  /** Shows the kinds of requests to $OTHER since the last time: several may be under way at once. */
  received: ({ received }) => {
    const lines = received.splice(0).map(({ method, path, headers }) => {
      const key = headers['x-key'] === undefined ? '' : ' with x-key';
      return `${method} ${path}${key}`;
    });
    return { out: [...new Set(lines)].sort().join('\n') };
  },
  /** Changes the key that the simulated service accepts. */
  key: ({ shell }, key) => {
    shell.simulator.key = key === '' ? SHELL_KEY : key;
    return {};
  },
  /** `fill SERVICE=POINTS,… MINUTES`: puts a request, made so long ago, into the queue of queue.yaml. */
  fill: async ({ clock }, rest) => {
    const [parts = '', minutes] = rest.split(' ');
    const points = [...parts.matchAll(/(\w+)=(\d+)/g)].map(([, id, n]) => [id, Number(n)]);
    const madeAtMs = clock.nowMs() - Number(minutes) * MINUTE_MS;
    await fillQueue(clock, metricsBatch(Object.fromEntries(points), madeAtMs));
    return {};
  },
  /** `fill-logs SERVICE RECORDS MINUTES`: the same with log records. */
  'fill-logs': async ({ clock }, rest) => {
    const [service = '', records, minutes] = rest.split(' ');
    const bodies = Array.from({ length: Number(records) }, (_, i) => `record ${i}`);
    const madeAtMs = clock.nowMs() - Number(minutes) * MINUTE_MS;
    await fillQueue(clock, logsBatch(service, bodies, madeAtMs));
    return {};
  },
  /** Changes the file of the queue as another program would. */
  sql: (_, statement) => {
    const database = new DatabaseSync('queue/queue.sqlite');
    database.exec(statement);
    database.close();
    return {};
  },
  /** Lets minutes pass. */
  wait: ({ clock }, minutes) => {
    clock.forward(Number(minutes) * MINUTE_MS);
    return {};
  },
  /** `daemon FILE`: starts the daemon of a configuration with its status server; `cycle` has it scrape and send once. */
  daemon: async (stage, file) => {
    const { clock } = stage;
    const config = loadConfig({ file, environment: { KEY: SHELL_KEY } });
    const daemon = await Daemon.open({ config, clock, logger: silentLogger });
    const status = await serveStatus({ daemon, loaded: null }, clock);
    stage.daemon = daemon;
    stage.ends.push(async () => {
      await daemon.stop(AbortSignal.abort());
      await status.close();
    });
    return {};
  },
  cycle: async ({ daemon }) => {
    await daemon?.cycle(CYCLE_MS, CYCLE_MS);
    return {};
  },
  /** Shows the requests to the simulated service since the last time. */
  requests: stage => {
    const { latest, requests } = stage.shell.simulator;
    const { count } = requests;
    const recent = latest.slice(latest.length - (count - stage.shown));
    stage.shown = count;
    return { out: recent.map(({ method, url }) => `${method} ${url}`).join('\n') };
  },
};

async function fillQueue(clock: Clock, batch: Batch): Promise<void> {
  const config = loadConfig({ file: 'queue.yaml', environment: {} });
  const queue = openQueue(config, { clock, counters: new Counters(), logger: silentLogger });
  const stored = await queue.commit({ batches: [batch], state: [], reads: [] });
  await queue.close();
  expect(stored.kind).toBe('stored');
}
