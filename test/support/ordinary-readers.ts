// What readers of the sent points make of a world of ordinary life (ordinary-world.ts): growth that they claim and that
// did not happen, growth that they miss, and starts that move though nothing has begun. A reader of cumulative points
// uses starts and values; a reader of deltas adds them up. Each sample is compared with the rules applied by hand
// (ordinary-rule.ts).

import { OUTCOME, type SeriesTable } from '../../src/model/series-table.ts';
import { WireWriter } from '../../src/pipeline/encode/wire.ts';
import { saveStarts, saveWhole } from '../../src/pipeline/derive/state.ts';
import { readState } from '../../src/pipeline/derive/state-form.ts';
import { findSeries } from '../../src/pipeline/decode/row-index.ts';
import type { ScrapeTime } from '../../src/model/page.ts';
import { type Scraped, translate } from '../../src/pipeline.ts';
import { OrdinaryRule } from './ordinary-rule.ts';
import { LIFE, livePolls, type OrdinaryOptions, type Poll, type Shown } from './ordinary-world.ts';
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
  /** Samples that the plain rules judged, and where they differ: the first ones, in words. */
  judged: number;
  readonly different: string[];
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
  /** The plain rules for it, and what we have sent since they last judged. */
  readonly rule: OrdinaryRule;
  growth: number;
  hasBegun: boolean;
}

type Point = Pick<Track, 'timeMs' | 'startMs' | 'value'>;

export interface LifeOptions extends OrdinaryOptions {
  readonly isDelta: boolean;
  /** Each page is read and encoded in full. */
  readonly isFull: boolean;
  /** Mean time between ends of prom2otlp, every second of which is a kill. */
  readonly endMs: number;
}

export function noScore(): Score {
  const counts = { truth: 0, over: 0, overTimes: 0, claimed: 0, killed: 0, calm: 0, judged: 0 };
  return { ...counts, falseStarts: 0, wrong: [], different: [], repeating: 0 };
}

/** Adds scores up. */
export function sumOf(scores: readonly Score[]): Score {
  const sum = noScore();
  for (const { wrong, different, ...counts } of scores) {
    for (const [name, count] of Object.entries(counts)) sum[name as keyof typeof counts] += count;
    sum.wrong.push(...wrong);
    sum.different.push(...different);
  }
  return sum;
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

/** Reads what was sent for one counter of a page. */
function read(
  score: Score,
  tracks: Map<string, Track>,
  table: SeriesTable,
  shown: Shown,
  { wallMs, page }: Poll,
  options: LifeOptions,
): void {
  const { isStamped, isDelta } = options;
  const { name, server, truth } = shown;
  const labels = [
    ['namespace', 'a'],
    ['server_name', server],
  ] as const;
  const row = findSeries(table, name, labels);
  if (row < 0) throw new Error(`no row of ${name} ${server}`);
  const track = trackOf(tracks, shown, options);
  track.last = truth;
  const atMs = isStamped && page !== null ? page.stampMs : wallMs;
  const timeMs = table.timeMs[row] ?? 0;
  // A clock that was set back by a little runs slowly: the time of a page without stamps is not `wallMs`.
  const pageMs = isStamped ? atMs : timeMs;
  if (!(pageMs <= (track.truths.at(-1)?.[0] ?? 0))) track.truths.push([pageMs, shown]);
  if (track.truths.length > 2 * TRUTHS) track.truths.splice(0, TRUTHS);
  const outcome = table.outcome[row];
  // Without stamps, a repeat is an observation that moves nothing.
  if (outcome === OUTCOME.repeated && !isStamped && track.timeMs > 0) score.calm++;
  if (outcome === OUTCOME.point) {
    const point = { timeMs, startMs: table.startMs[row] ?? 0, value: table.value[row] ?? 0 };
    if (isDelta) readDelta(score, track, shown, point);
    else if (track.timeMs > 0) readValue(score, track, shown, point);
    Object.assign(track, point, { isKilled: false });
  }
  // The plain rules know of no saved state, and of no clock that is ahead.
  const isPlain = options.endMs >= LIFE.never && options.absenceMs >= LIFE.never;
  if (isPlain && outcome !== OUTCOME.timeFuture) compare(score, track, shown, pageMs, isDelta);
}

function trackOf(
  tracks: Map<string, Track>,
  { name, server, truth }: Shown,
  { intervalMs, isDelta }: LifeOptions,
): Track {
  const key = `${name} ${server}`;
  const known = tracks.get(key);
  if (known !== undefined) return known;
  const track: Track = {
    truths: [],
    first: truth,
    last: truth,
    timeMs: 0,
    startMs: Number.NaN,
    value: 0,
    isKilled: false,
    rule: new OrdinaryRule(intervalMs, isDelta),
    growth: 0,
    hasBegun: false,
  };
  tracks.set(key, track);
  return track;
}

function readDelta(
  score: Score,
  track: Track,
  shown: Shown,
  { timeMs, startMs, value }: Point,
): void {
  if (startMs > timeMs) note(score.wrong, shown, timeMs, `it starts later, at ${String(startMs)}`);
  if (value < 0) note(score.wrong, shown, timeMs, `a delta of ${String(value)}`);
  if (startMs < track.timeMs)
    note(score.wrong, shown, timeMs, `it starts before ${String(track.timeMs)}`);
  // A start between two pages is that of a marker, or of a process.
  const from = track.truths.findLast(([ms]) => ms <= startMs);
  if (from === undefined)
    note(score.wrong, shown, timeMs, `it starts before our first page, at ${String(startMs)}`);
  else claim(score, value, shown.truth - from[1].truth);
  track.growth += value;
}

function readValue(
  score: Score,
  track: Track,
  shown: Shown,
  { timeMs, startMs, value }: Point,
): void {
  const hasMoved = startMs !== track.startMs;
  if (startMs > timeMs) note(score.wrong, shown, timeMs, `it starts later, at ${String(startMs)}`);
  if (hasMoved && startMs < track.timeMs)
    note(score.wrong, shown, timeMs, `it starts before ${String(track.timeMs)}`);
  const before = track.truths.findLast(([ms]) => ms <= track.timeMs)?.[1];
  const real = shown.truth - (before?.truth ?? shown.truth);
  const growth = hasMoved ? (startMs < timeMs ? value : 0) : value - track.value;
  track.growth += growth;
  track.hasBegun ||= hasMoved;
  if (track.isKilled) {
    score.killed += real;
    return;
  }
  claim(score, growth, real);
  if (before?.life !== shown.life) return;
  score.calm++;
  if (hasMoved) score.falseStarts++;
}

/** Compares what was sent since the plain rules last judged with what they say of this sample. */
function compare(score: Score, track: Track, shown: Shown, timeMs: number, isDelta: boolean): void {
  const verdict = track.rule.judge(timeMs, shown.value, shown.uptime);
  if (verdict === null) return;
  score.judged++;
  const { growth, hasBegun } = track;
  const isSame =
    Math.abs(growth - verdict.growth) < 1e-6 && (isDelta || hasBegun === verdict.hasBegun);
  if (!isSame)
    note(
      score.different,
      shown,
      timeMs,
      `${JSON.stringify({ growth, hasBegun })} ${JSON.stringify(verdict)}`,
    );
  Object.assign(track, { growth: 0, hasBegun: false });
}

/** Keeps the first few findings. */
function note(list: string[], { name, server }: Shown, timeMs: number, what: string): void {
  if (list.length < 5) list.push(`${name} ${server} at ${String(timeMs)}: ${what}`);
}

function claim(score: Score, claimed: number, real: number): void {
  const over = claimed - real;
  if (over > 1e-6) {
    score.over += over;
    score.overTimes++;
  }
  score.claimed += Math.min(claimed, real);
}
