// Further samples of a series that the page already had. The page's first sample of a series stands in the columns;
// a later one makes a point of its own if its time is newer, or takes the place of a first one that gave no point.
// Otherwise it is dropped: as a repetition, a conflict, or a duplicate where a second point has no meaning.

import type { Metric } from '../../model/metric.ts';
import { FATE, ROLE } from '../../model/series-table.ts';
import type { RepeatedSample } from '../../model/memory.ts';
import { lookAround, type Judging, type Surroundings } from './judge.ts';
import { observeScalar } from './observe.ts';
import { countFate } from './tally.ts';
import { isSameValue, judgeTime } from './time.ts';

/** Judges them all; call it after the rows. */
export function judgeRepeats(judging: Judging): void {
  for (const sample of judging.table.repeats) {
    const around = lookAround(judging, sample.row);
    sample.fate = judgeRepeat(judging, sample, around);
    countFate(around.tally, sample.fate);
    const isUsed = sample.fate === FATE.point || sample.fate === FATE.part;
    if (isUsed && around.tally !== undefined) around.tally.points++;
  }
}

function judgeRepeat(judging: Judging, sample: RepeatedSample, around: Surroundings): number {
  const { table } = judging;
  const { row } = sample;
  const metric = table.metrics[table.metric[row]!]!;
  if (around.barrier !== FATE.none) return around.barrier;
  if (!metric.isIncluded) return FATE.excluded;
  const isNumber = metric.kind !== 'histogram' && metric.kind !== 'summary';
  if (!isNumber || table.role[row] !== ROLE.scalar) return FATE.duplicate;
  const fate = table.fate[row] ?? FATE.none;
  if (fate === FATE.point) return addPoint(judging, sample, metric);
  return GAVE_NO_POINT.has(fate) ? takePlace(judging, sample, metric, around) : FATE.duplicate;
}

const GAVE_NO_POINT: ReadonlySet<number> = new Set([
  FATE.repeated,
  FATE.timeBackwards,
  FATE.timeConflict,
  FATE.timeFuture,
]);

/** The row's own sample gave no point: this one is judged in its columns. */
function takePlace(
  judging: Judging,
  sample: RepeatedSample,
  metric: Metric,
  around: Surroundings,
): number {
  const { table } = judging;
  const { row } = sample;
  table.value[row] = sample.value;
  table.timeMs[row] = sample.timeMs;
  const fate = observeScalar(judging, row, metric, around);
  table.fate[row] = fate;
  // The point is the row's, not one more.
  return fate === FATE.point ? FATE.part : fate;
}

/** A second point of the same series on one page: a newer time, and for counters no fall. */
function addPoint(judging: Judging, sample: RepeatedSample, metric: Metric): number {
  const { table, options, time } = judging;
  const { row, value } = sample;
  const last = table.lastValue[row]!;
  const isRising = metric.kind !== 'sum' || value >= last;
  if (!options.honorTimestamps || Number.isNaN(sample.timeMs)) sample.timeMs = time.nowMs;
  const lastMs = table.lastTimeMs[row]!;
  const fate = judgeTime(sample.timeMs, lastMs, isSameValue(value, last), time.futureMs);
  if (fate !== FATE.point) return fate;
  if (!isRising || (options.isDelta && metric.kind === 'sum')) return FATE.duplicate;
  if (metric.kind === 'sum') sample.startMs = table.startMs[row]!;
  table.lastTimeMs[row] = sample.timeMs;
  table.lastValue[row] = value;
  return fate;
}
