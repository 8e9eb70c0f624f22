// Fills the time in which prom2otlp did not run (`metrics.backfill`): before a target's first page is translated, the pages
// that the service has stored since the target's last one are. They go through the target's own series, so that starts,
// restarts and deltas go on, and into the queue before the first new points. The time of the last page is stored with its
// points, in one transaction.

import type { Config } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { formatDuration } from '../lib/format.ts';
import type { Page } from '../model/page.ts';
import { History } from './history.ts';
import type { Target } from '../pipeline/collect/plan-targets.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { PAGE_TIME, type PipelineTarget } from '../pipeline.ts';
import type { ServiceHttp } from '../service/http-client.ts';
import type { TargetLog } from './target-log.ts';

/** A target's first page waits no longer for the past: later points would be missing instead. */
const FILL_MS_MAX = 60_000;

interface PastOptions {
  readonly target: Target;
  readonly log: TargetLog;
  readonly client: ServiceHttp;
  readonly config: Config;
  readonly queue: Pick<Queue, 'readState'>;
  readonly clock: Clock;
  readonly counters: Counters;
}

export const BACKFILL_COUNTERS = {
  samples: {
    name: 'prom2otlp_backfill_samples_total',
    help: "Samples of the service's history that were read after a downtime.",
  },
  gaps: {
    name: 'prom2otlp_backfill_gaps_total',
    help: 'Downtimes, by target, that were filled from the history, or not to their end.',
    labels: ['result'],
  },
} as const;

/** The past of one target, for its first page alone; null if it is not wanted, or if nothing is stored of it. */
export function pastOfTarget(options: PastOptions): PipelineTarget<never>['past'] {
  const { config, target, queue } = options;
  if (!config.metrics.backfill.isEnabled || config.queue.directory === null) return null;
  let isFirst = true;
  return async function* past(page, giveUp) {
    if (!isFirst) return;
    isFirst = false;
    const lastMs = Number(await queue.readState(PAGE_TIME, target.id));
    const missingMs = page.startedAtMs - lastMs;
    // The state of a target that is new says 0. A scrape that came a little late is no gap.
    if (lastMs === 0 || missingMs < 2 * target.intervalMs) return;
    yield* fill(options, page, { lastMs, giveUp });
  };
}

async function* fill(
  { target, log, client, config, clock, counters }: PastOptions,
  page: Page,
  { lastMs, giveUp }: { readonly lastMs: number; readonly giveUp: AbortSignal },
): AsyncGenerator<Page> {
  const { backfill, limits, staleAfterMs } = config.metrics;
  const toMs = page.startedAtMs;
  // Some series were older than the last page that had them, such as those of a proxy. Only after a stop by itself is it
  // known which of their samples were sent.
  const knownMs = log.table.restored?.isWhole === true ? staleAfterMs : 0;
  const fromMs = Math.max(lastMs - knownMs, toMs - backfill.maxMs);
  const takes = (id: string): boolean => target.configured.has(id);
  const history = new History({ http: client, backfill, limits, page, takes });
  const limit = new AbortController();
  const cancel = clock.after(FILL_MS_MAX, () => limit.abort());
  const signal = AbortSignal.any([giveUp, limit.signal]);
  for await (const { bytes, format, timeMs } of history.pages({ fromMs, toMs }, signal)) {
    const monotonicMs = page.monotonicMs - (toMs - timeMs);
    const time = { startedAtMs: timeMs, monotonicMs, durationMs: 0, serverAtMs: Number.NaN };
    yield { bytes, format, wireBytes: bytes.length, ...time };
  }
  cancel();
  const { samples, without, series, failure, doneUntilMs } = history.report;
  const isCut = signal.aborted && doneUntilMs < toMs;
  const cause = isCut ? `it took ${formatDuration(FILL_MS_MAX)}` : failure;
  const counts = counters.of(BACKFILL_COUNTERS);
  counts.samples.add(samples);
  counts.gaps.add(1, cause === '' ? 'filled' : 'failed');
  const [from, to, until] = [lastMs, toMs, doneUntilMs].map(ms => new Date(ms).toISOString());
  log.noteBackfill(
    { from, to, until, samples, series, seriesWithoutHistory: without.length },
    cause,
  );
}
