// A run of the program at a fleet's page, on a fast clock, against a back end that goes away for long: usual, outage,
// drain. What is measured on the way is the program's memory, its queue, and how long the drain takes.

import { setTimeout as sleep } from 'node:timers/promises';
import { Recorder } from '../../support/recorder.ts';
import { saneMetrics } from '../../support/wire-sanity.ts';
import { type AccountNumbers, Bridge, drained } from './bridge.ts';
import { DayLedger, type DayFindings } from './day-ledger.ts';
import { DaySource } from './day-source.ts';
import { fastClock, PACE_VARIABLE, paceOf } from './fast-clock.ts';

export interface DayOptions {
  readonly services: number;
  /** Of each service. */
  readonly series: number;
  /** Polls before the outage, and in it. */
  readonly usualPolls: number;
  readonly outagePolls: number;
  /** Where a real back end takes metrics: it is sent everything too. */
  readonly forwardTo?: string;
}

/** A part of the run. */
export interface Phase {
  /** Pages that were served. */
  readonly polls: number;
  readonly seconds: number;
  /** The most that the process held. */
  readonly rssBytes: number;
}

export interface Day {
  readonly usual: Phase;
  readonly outage: Phase;
  readonly drain: Phase;
  /** What waited when the back end came back. */
  readonly queued: { readonly rows: number; readonly points: number; readonly bytes: number };
  /** Requests, and their bytes as sent, until the queue was empty. */
  readonly drainRequests: number;
  readonly drainBytes: number;
  readonly findings: DayFindings;
  readonly account: AccountNumbers;
  readonly source: DaySource;
  readonly refusals: readonly string[];
}

/** An interval of the day in milliseconds, and how many real ones it takes. */
const INTERVAL_MS = 60_000;
const SPEED = 240;
/** How long ago the day begins, in lengths of it and a part that a drain may take: a busy machine is slower. */
const LENGTHS = 3;
const DRAIN_MS = 24 * 3_600_000;
const LOOK_MS = 100;

/** When the day begins, seen from now. */
export function agoMs({ usualPolls, outagePolls }: DayOptions): number {
  return LENGTHS * (usualPolls + outagePolls) * INTERVAL_MS + DRAIN_MS;
}

export async function liveThroughOutage(options: DayOptions): Promise<Day> {
  const { usualPolls, outagePolls } = options;
  const pace = paceOf(SPEED, agoMs(options));
  const services = Array.from({ length: options.services }, (_, index) => `dbday${100 + index}`);
  const clock = fastClock(pace);
  await using source = await DaySource.start({ services, series: options.series, clock });
  const { forwardTo } = options;
  await using recorder = await Recorder.start(forwardTo === undefined ? [] : [forwardTo]);
  await using bridge = new Bridge({
    sourceUrl: source.url,
    services,
    changes: {
      api: { base_url: source.url, key: 'a-key', timeout: '60s' },
      // No markers: on a busy machine, minutes of this clock may pass between two polls.
      metrics: { interval: `${INTERVAL_MS / 1000}s`, stale_markers: false },
      // Fifteen seconds of the machine's: an answer that comes too late would make a batch come twice.
      otlp: { metrics_endpoint: recorder.url, timeout: '1h' },
    },
  });
  const environment = {
    PROM2OTLP_ENTRY: 'test/faults/support/fast-main.ts',
    [PACE_VARIABLE]: JSON.stringify(pace),
    // As on the shipped command lines.
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
  /** Goes on until `isOver`, and looks at the process meanwhile. */
  const phase = async (isOver: () => Promise<boolean> | boolean): Promise<Phase> => {
    const before = source.times.length;
    const startedMs = performance.now();
    let rssBytes = 0;
    do {
      await sleep(LOOK_MS);
      rssBytes = Math.max(rssBytes, life.memory.now);
    } while (!(await isOver()));
    const seconds = (performance.now() - startedMs) / 1000;
    return { polls: source.times.length - before, seconds, rssBytes };
  };
  const usual = await phase(() => source.times.length >= usualPolls);
  const comeBack = await recorder.goDown();
  const outage = await phase(() => source.times.length >= usualPolls + outagePolls);
  const queued = await queueNow();
  const before = recorder.accepted.length;
  await comeBack();
  const drain = await phase(async () => (await queueNow()).rows <= 1);
  const sent = recorder.accepted.slice(before);
  await life.stop();
  // What came in with the last polls, without another one.
  const rest = bridge.start({}, { metrics: { enabled: false } });
  await rest.ready();
  await drained(rest);
  await rest.stop();
  const ledger = new DayLedger(source);
  let count = 0;
  for (const request of recorder.unpacked()) {
    ledger.take(request);
    // The ledger looks at every point; the rest of a request is looked at now and then.
    if (count++ % 100 === 0) saneMetrics(request);
  }
  return {
    usual,
    outage,
    drain,
    queued,
    drainRequests: sent.length,
    drainBytes: sent.reduce((sum, { body }) => sum + body.length, 0),
    findings: ledger.findings(),
    account: bridge.account(),
    source,
    // A trial of zstd costs nobody anything: the same bytes come again in gzip.
    refusals: recorder.requests
      .filter(({ status, encoding }) => status >= 300 && encoding !== 'zstd')
      .map(({ status, words }) => `${status} ${words}`),
  };
}
