// What readers of the sent points make of a world of ordinary life (ordinary-world.ts): growth that they claim and that
// did not happen, growth that they miss, and starts that move though nothing has begun. A reader of cumulative points
// uses starts and values; a reader of deltas adds them up.

import { OUTCOME, type SeriesTable } from '../../src/model/series-table.ts';
import { WireWriter } from '../../src/pipeline/encode/wire.ts';
import { saveStarts, saveWhole } from '../../src/pipeline/derive/state.ts';
import { readState } from '../../src/pipeline/derive/state-form.ts';
import { findSeries } from '../../src/pipeline/decode/row-index.ts';
import type { ScrapeTime } from '../../src/model/page.ts';
import { type Scraped, translate } from '../../src/pipeline.ts';
import { livePolls, type OrdinaryOptions, type Poll, type Shown } from './ordinary-world.ts';
import { finished, Target } from './target.ts';

export interface Score {
  /** What all identities have counted between their first and last page. */
  truth: number;
  /** Growth claimed that did not happen, in all and how often. */
  over: number;
  overTimes: number;
  /** Growth claimed that happened. */
  claimed: number;
  /** Growth of the interval in which a kill of prom2otlp lay. */
  killed: number;
  /** Observations whose process and flush are those of the one before, and the starts that moved there. */
  calm: number;
  falseStarts: number;
  /** Negative deltas and overlapping streams: the first ones, in words. */
  readonly wrong: string[];
  /** Pages read by the repeating path. */
  repeating: number;
}

const TRUTHS = 50;

/** One identity, as a reader sees it. */
interface Track {
  /** The newest pages, by time: a start is never older than the oldest of them. */
  readonly truths: (readonly [timeMs: number, shown: Shown])[];
  first: number;
  last: number;
  /** The newest point. */
  timeMs: number;
  startMs: number;
  value: number;
  /** True until the first point after a kill. */
  isKilled: boolean;
}

export interface LifeOptions extends OrdinaryOptions {
  readonly isDelta: boolean;
  /** Each page is read and encoded in full. */
  readonly isFull: boolean;
  /** Mean time between ends of prom2otlp, every second of which is a kill. */
  readonly endMs: number;
}

export function noScore(): Score {
  const counts = { truth: 0, over: 0, overTimes: 0, claimed: 0, killed: 0, calm: 0 };
  return { ...counts, falseStarts: 0, wrong: [], repeating: 0 };
}

/** Lives a world and adds to the score. */
export function scoreLife(score: Score, seed: number, options: LifeOptions): void {
  const targetOptions = {
    services: ['a'],
    temporality: options.isDelta ? 'delta' : 'cumulative',
    metrics: { intervalMs: options.intervalMs },
  } as const;
  let target = new Target(targetOptions);
  const writer = new WireWriter();
  const tracks = new Map<string, Track>();
  let endsAtMs = options.endMs;
  let ends = 0;
  for (const poll of livePolls(seed, options)) {
    const { table } = target.translation;
    if (options.isFull) Object.assign(table, { layout: null, template: null });
    const { layout } = table;
    finished(translate(target.translation, scrapeOf(poll, options), writer));
    if (layout !== null && layout === table.layout) score.repeating++;
    if (poll.page !== null)
      for (const shown of poll.page.counters) read(score, tracks, table, shown, poll, options);
    if (poll.monotonicMs < endsAtMs) continue;
    endsAtMs += options.endMs;
    const isKill = ends++ % 2 === 0;
    table.savedVersion = null;
    const blob = finished(isKill ? saveStarts(table) : saveWhole(table));
    target = new Target(targetOptions);
    target.translation.table.restored = blob === null ? null : readState(blob);
    if (isKill) for (const track of tracks.values()) track.isKilled = true;
  }
  for (const { first, last } of tracks.values()) score.truth += last - first;
}

function scrapeOf({ wallMs, monotonicMs, page }: Poll, options: OrdinaryOptions): Scraped {
  const time: ScrapeTime = {
    startedAtMs: wallMs,
    monotonicMs,
    durationMs: 100,
    serverAtMs: Number.NaN,
  };
  if (page === null) return { kind: 'failure', reason: 'timeout', ...time };
  const bytes = Buffer.from(page.text);
  const format = options.hasCreated ? 'openmetrics' : 'text';
  return { kind: 'page', page: { bytes, format, wireBytes: bytes.length, ...time } };
}

function read(
  score: Score,
  tracks: Map<string, Track>,
  table: SeriesTable,
  shown: Shown,
  { wallMs, page }: Poll,
  { isDelta, isStamped }: LifeOptions,
): void {
  const { name, server, truth } = shown;
  const key = `${name} ${server}`;
  const labels = [
    ['namespace', 'a'],
    ['server_name', server],
  ] as const;
  const row = findSeries(table, name, labels);
  if (row < 0) throw new Error(`no row of ${key}`);
  let track = tracks.get(key);
  if (track === undefined) {
    const none = { timeMs: 0, startMs: Number.NaN, value: 0, isKilled: false };
    track = { truths: [], first: truth, last: truth, ...none };
    tracks.set(key, track);
  }
  track.last = truth;
  const atMs = isStamped && page !== null ? page.stampMs : wallMs;
  const timeMs = table.timeMs[row] ?? 0;
  // A clock that was set back by a little runs slowly: the time of a page without stamps is not `wallMs`.
  const pageMs = isStamped ? atMs : timeMs;
  if (!(pageMs <= (track.truths.at(-1)?.[0] ?? 0))) track.truths.push([pageMs, shown]);
  if (track.truths.length > 2 * TRUTHS) track.truths.splice(0, TRUTHS);
  // Without stamps, a repeat is an observation that moves nothing.
  if (table.outcome[row] === OUTCOME.repeated && !isStamped && track.timeMs > 0) score.calm++;
  if (table.outcome[row] !== OUTCOME.point) return;
  const startMs = table.startMs[row] ?? 0;
  const value = table.value[row] ?? 0;
  const say = (what: string): void => {
    if (score.wrong.length < 5) score.wrong.push(`${key} at ${String(timeMs)}: ${what}`);
  };
  const isFirst = track.timeMs === 0;
  if (startMs > timeMs) say(`it starts later, at ${String(startMs)}`);
  if (isDelta) {
    if (value < 0) say(`a delta of ${String(value)}`);
    if (startMs < track.timeMs) say(`it starts before ${String(track.timeMs)}`);
    // A start between two pages is that of a marker, or of a process.
    const from = track.truths.findLast(([ms]) => ms <= startMs);
    if (from !== undefined) claim(score, value, truth - from[1].truth);
    else say(`it starts before our first page, at ${String(startMs)}`);
  } else if (!isFirst) {
    const hasMoved = startMs !== track.startMs;
    if (hasMoved && startMs < track.timeMs) say(`it starts before ${String(track.timeMs)}`);
    const before = track.truths.findLast(([ms]) => ms <= track.timeMs)?.[1];
    const real = truth - (before?.truth ?? truth);
    const isCalm = before?.life === shown.life;
    if (track.isKilled) score.killed += real;
    else {
      claim(score, hasMoved ? (startMs < timeMs ? value : 0) : value - track.value, real);
      if (isCalm) score.calm++;
      if (isCalm && hasMoved) score.falseStarts++;
    }
  }
  Object.assign(track, { timeMs, startMs, value, isKilled: false });
}

function claim(score: Score, claimed: number, real: number): void {
  const over = claimed - real;
  if (over > 1e-6) {
    score.over += over;
    score.overTimes++;
  }
  score.claimed += Math.min(claimed, real);
}
