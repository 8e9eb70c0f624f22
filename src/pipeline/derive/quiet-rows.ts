// The rows of a page for which nothing has happened, which on almost every page are almost all: a number whose series
// is known, with a time behind the one before, that nothing stands in the way of, and of a counter neither a fall nor
// a restart. In: a range of rows as judge.ts has it. Out: for the quiet ones exactly what judge.ts and observe.ts would
// have made of them, counted in runs of one block; the first other one is left to them.

import { FATE, type Metric, NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model.ts';
import type { Judging, Surroundings } from './judge.ts';
import type { DeriveOptions } from './options.ts';
import { UPTIME_JITTER_MS } from './uptime.ts';

/** What a metric's rows may be, by its index: never quiet, or quiet as plain numbers or as counters. */
const NEVER = 0;
const NUMBER = 1;
const COUNTER = 2;

/** Flags that an accepted sample clears. */
const CLEARED = ~(ROW_FLAG.staleSent | ROW_FLAG.restored | ROW_FLAG.explicitTime);

/** Which rows may be quiet, by their metric; made once per page. */
export function quietMetrics(table: SeriesTable, options: DeriveOptions): Uint8Array {
  return Uint8Array.from(table.metrics, metric => quietKind(metric, options));
}

function quietKind({ isIncluded, kind }: Metric, { isDelta }: DeriveOptions): number {
  if (!isIncluded || kind === 'histogram' || kind === 'summary') return NEVER;
  if (kind !== 'sum') return NUMBER;
  return isDelta ? NEVER : COUNTER;
}

/** Judges rows from `from` on while they are quiet; returns the first one that is not, or `to`. */
export function judgeQuietRows(judging: Judging, from: number, to: number): number {
  const { surroundings } = judging;
  const blockOf = judging.table.block;
  for (let row = from; row < to; ) {
    const block = blockOf[row] ?? NO_ROW;
    const around = surroundings[block];
    if (around === undefined || around.barrier !== FATE.none) return row;
    const end = judgeRun(judging, row, to, { block, around });
    if (end > row) countPoints(judging.table, around, end - row);
    // It ended at another block, or at a row that is not quiet.
    if (end < to && blockOf[end] === block) return end;
    row = end;
  }
  return to;
}

function countPoints({ page }: SeriesTable, { block, tally }: Surroundings, count: number): void {
  block.movedPage = page;
  if (tally === undefined) return;
  tally.fates[FATE.point] = (tally.fates[FATE.point] ?? 0) + count;
  tally.points += count;
}

/** The same within one block. Locals and columns only: this is what a page's judgement costs. */
function judgeRun(
  { table, options, time, mayDerive, quiet }: Judging,
  from: number,
  to: number,
  { block, around }: { readonly block: number; readonly around: Surroundings },
): number {
  const { page, seen, role, metric, block: blockOf, fate, twins, createdRows } = table;
  const { value, timeMs, startMs, lastValue, lastTimeMs, movedAtMs, flags } = table;
  const { nowMs, futureMs, monotonicMs } = time;
  const { honorTimestamps } = options;
  const restartMs = (around.component?.newestStartMs ?? Number.NaN) - UPTIME_JITTER_MS;
  const hasTwins = twins.size > 0;
  const hasCreated = createdRows.size > 0;
  for (let row = from; row < to; row++) {
    if (blockOf[row] !== block || seen[row] !== page || role[row] !== ROLE.scalar) return row;
    const kind = quiet[metric[row] ?? 0] ?? NEVER;
    if (kind === NEVER || (hasTwins && twins.has(row))) return row;
    const stampMs = timeMs[row] ?? Number.NaN;
    const isExplicit = honorTimestamps && stampMs === stampMs;
    const sentMs = isExplicit ? stampMs : nowMs;
    // Without a sample before, or after one from a clock that was wrong, these are false.
    if (!(sentMs > (lastTimeMs[row] ?? Number.NaN) && sentMs <= futureMs && sentMs > 0)) return row;
    const now = value[row] ?? Number.NaN;
    if (kind === COUNTER) {
      const begunMs = startMs[row] ?? Number.NaN;
      if (!(now >= (lastValue[row] ?? Number.NaN)) || restartMs > begunMs) return row;
      if ((mayDerive && begunMs !== begunMs) || (hasCreated && createdRows.has(row))) return row;
    }
    lastValue[row] = now;
    lastTimeMs[row] = sentMs;
    movedAtMs[row] = monotonicMs;
    fate[row] = FATE.point;
    const kept = (flags[row] ?? 0) & CLEARED;
    if (isExplicit) flags[row] = kept | ROW_FLAG.sent | ROW_FLAG.explicitTime;
    else {
      flags[row] = kept | ROW_FLAG.sent;
      timeMs[row] = nowMs;
    }
  }
  return to;
}
