// Runs the program with a fleet's page, on a fast clock, against a back end that is away for a long time, in three
// phases: usual, outage, drain. Measures the program's memory, its queue, and the duration of the drain.

import { setTimeout as sleep } from 'node:timers/promises';
import { oracleDecodeMetrics } from '../../reference/oracle.ts';
import { otlpPoints } from '../../support/otlp-points.ts';
import { Recorder } from '../../support/recorder.ts';
import { saneMetrics } from '../../support/wire-sanity.ts';
import { type AccountNumbers, Bridge, drained } from './bridge.ts';
import { DaySource } from './day-source.ts';
import { fastClock, PACE_VARIABLE, paceOf } from './fast-clock.ts';
import { Ledger, type Findings } from './ledger.ts';

export interface DayOptions {
  readonly services: number;
  /** The series of each service. */
  readonly series: number;
  /** Polls before the outage, and in it. */
  readonly usualPolls: number;
  readonly outagePolls: number;
  /** The URLs of real back ends that also get everything. */
  readonly forwardTo?: readonly string[];
}

/** A part of the run. */
export interface Phase {
  /** Pages that were served. */
  readonly polls: number;
  readonly seconds: number;
  /** The highest resident memory of the process. */
  readonly rssBytes: number;
}

export interface Day {
  readonly usual: Phase;
  readonly outage: Phase;
  readonly drain: Phase;
  /** The queue when the back end came back. */
  readonly queued: { readonly rows: number; readonly points: number; readonly bytes: number };
  /** The requests of the drain, and their bytes as sent. */
  readonly drainRequests: number;
  readonly drainBytes: number;
  readonly findings: Findings;
  readonly account: AccountNumbers;
  readonly source: DaySource;
  readonly refusals: readonly string[];
}

/** The interval of the day, by its own clock, and the speed of that clock. */
const INTERVAL_MS = 60_000;
const SPEED = 240;
/** The day begins so many of its lengths ago, plus a time for the drain, because a busy machine is slower. */
const LENGTHS = 3;
const DRAIN_MS = 24 * 3_600_000;
const LOOK_MS = 100;

/** How long ago the day begins. */
export function agoMs({ usualPolls, outagePolls }: DayOptions): number {
  return LENGTHS * (usualPolls + outagePolls) * INTERVAL_MS + DRAIN_MS;
}

export async function liveThroughOutage(options: DayOptions): Promise<Day> {
  const { usualPolls, outagePolls } = options;
  const pace = paceOf(SPEED, agoMs(options));
  const services = Array.from({ length: options.services }, (_, index) => `dbday${100 + index}`);
  const clock = fastClock(pace);
  await using source = await DaySource.start({ services, series: options.series, clock });
  await using recorder = await Recorder.start(options.forwardTo ?? []);
  await using bridge = new Bridge({
    sourceUrl: source.url,
    services,
    changes: {
      api: { base_url: source.url, key: 'a-key', timeout: '60s' },
      // No markers: on a busy machine, minutes of this clock may pass between two polls.
      metrics: { interval: `${INTERVAL_MS / 1000}s`, stale_markers: false },
      // An hour is 15 real seconds: an answer that comes after the timeout would make a batch come twice.
      otlp: { metrics_endpoint: recorder.url, timeout: '1h' },
    },
  });
  const environment = {
    PROM2OTLP_ENTRY: 'test/faults/support/fast-main.ts',
    [PACE_VARIABLE]: JSON.stringify(pace),
    // The shipped command lines have this flag.
    NODE_OPTIONS: '--max-semi-space-size=1',
  };
  const life = bridge.start({ environment });
  await life.ready();
  const queueNow = async (): Promise<Day['queued']> => {
    const { queue } = await life.status();
    const metrics = queue.find(({ signal }) => signal === 'metrics');
    if (metrics === undefined) throw new Error('the status names no queue of metrics');
    return metrics;
  };
  /** Waits until `isOver`, and measures the process meanwhile. */
  const phase = async (isOver: () => Promise<boolean> | boolean): Promise<Phase> => {
    const before = source.pages.size;
    const startedMs = performance.now();
    let rssBytes = 0;
    do {
      await sleep(LOOK_MS);
      rssBytes = Math.max(rssBytes, life.memory.now);
    } while (!(await isOver()));
    const seconds = (performance.now() - startedMs) / 1000;
    return { polls: source.pages.size - before, seconds, rssBytes };
  };
  const usual = await phase(() => source.pages.size >= usualPolls);
  const comeBack = await recorder.goDown();
  const outage = await phase(() => source.pages.size >= usualPolls + outagePolls);
  const queued = await queueNow();
  const before = recorder.accepted.length;
  await comeBack();
  const drain = await phase(async () => (await queueNow()).rows <= 1);
  const sent = recorder.accepted.slice(before);
  await life.stop();
  // Delivers the points of the last polls, without further polls.
  const rest = bridge.start({}, { metrics: { enabled: false } });
  await rest.ready();
  await drained(rest);
  await rest.stop();
  const ledger = new Ledger(source);
  let count = 0;
  for (const request of recorder.unpacked()) {
    ledger.take(otlpPoints(oracleDecodeMetrics(request)));
    // The ledger checks every point; the rest is checked only for every hundredth request.
    if (count++ % 100 === 0) saneMetrics(request);
  }
  return {
    usual,
    outage,
    drain,
    queued,
    drainRequests: sent.length,
    drainBytes: sent.reduce((sum, { body }) => sum + body.length, 0),
    findings: ledger.findings(bridge.lives),
    account: bridge.account(),
    source,
    // A refused trial of zstd costs nothing: the same points come again with gzip.
    refusals: recorder.requests
      .filter(({ status, encoding }) => status >= 300 && encoding !== 'zstd')
      .map(({ status, words }) => `${status} ${words}`),
  };
}
