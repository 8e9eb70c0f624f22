// Further samples of a series on the same page. The first one is in the columns; a later one makes
// another point if its time is newer, or replaces a first one that gave no point. Otherwise it is
// dropped: as a repeat, a conflict, or a duplicate where a second point has no meaning.

import { isCompound, type Metric } from '../../model/metric.ts';
import { FATE, ROLE } from '../../model/series-table.ts';
import type { RepeatedSample } from '../../model/memory.ts';
import { lookAround, type Judging, type Surroundings } from './judge.ts';
import { isSameValue, judgeTime, observeScalar } from './observe.ts';
import { countFate } from './tally.ts';

/** Judges them all, after the rows. */
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
  if (isCompound(metric) || table.role[row] !== ROLE.scalar) return FATE.duplicate;
  const fate = table.fate[row]!;
  if (fate === FATE.point) return addPoint(judging, sample, metric);
  return GAVE_NO_POINT.has(fate) ? takePlace(judging, sample, metric, around) : FATE.duplicate;
}

const GAVE_NO_POINT: ReadonlySet<number> = new Set([
  FATE.repeated,
  FATE.timeBackwards,
  FATE.timeConflict,
  FATE.timeFuture,
]);

/** The row's first sample gave no point: judges this one in its columns. */
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
  // This is the row's point, not an additional one.
  return fate === FATE.point ? FATE.part : fate;
}

/**
 * Adds a second point of a series on one page: its time must be newer, and a counter must not fall.
 */
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
  table.setLastTime(row, sample.timeMs);
  table.setLastValue(row, value);
  return fate;
}
