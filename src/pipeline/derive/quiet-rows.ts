// The rows of a page for which nothing has happened, which on almost every page are almost all: a number whose series
// is known, with a time behind the one before, that nothing stands in the way of, and of a counter neither a fall nor
// a restart. In: a range of rows as judge.ts has it. Out: for the quiet ones exactly what judge.ts and observe.ts would
// have made of them, counted in runs of one block; the first other one is left to them.

import { FATE, type Metric, NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model.ts';
import type { Judging, Surroundings } from './judge.ts';
import { NO_PROCESS } from '../../table-memory.ts';
import type { DeriveOptions } from './options.ts';
import { processOf } from './reset.ts';

/** What a metric's rows may be: never quiet, or quiet as plain numbers, as counters, or as counters that uptimes date. */
const NEVER = 0;
const NUMBER = 1;
const COUNTER = 2;
/** From here on: one kind for each name of an uptime. */
const DATED = 3;

export interface QuietMetrics {
  /** The kind of a metric, by its index. */
  readonly kinds: Uint8Array;
  /** The uptime of a kind, from DATED on. */
  readonly uptimeNames: readonly string[];
}

/** Flags that an accepted sample clears. */
const CLEARED = ~(ROW_FLAG.staleSent | ROW_FLAG.restored | ROW_FLAG.explicitTime);

/** Which rows may be quiet, by their metric; made once per page. */
export function quietMetrics(
  table: SeriesTable,
  options: DeriveOptions,
  mayDerive: boolean,
): QuietMetrics {
  const uptimeNames: string[] = [];
  const kindOf = ({ isIncluded, kind, uptimeName }: Metric): number => {
    if (!isIncluded || kind === 'histogram' || kind === 'summary') return NEVER;
    if (kind !== 'sum') return NUMBER;
    if (options.isDelta) return NEVER;
    if (uptimeName === null || !mayDerive) return COUNTER;
    let at = uptimeNames.indexOf(uptimeName);
    if (at < 0) at = uptimeNames.push(uptimeName) - 1;
    return DATED + at <= KINDS_MAX ? DATED + at : NEVER;
  };
  return { kinds: Uint8Array.from(table.metrics, kindOf), uptimeNames };
}

const KINDS_MAX = 255;

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

/** Of which process counters of this kind are in the block; asked once for a kind, since almost all blocks have one. */
function askProcess(around: Surroundings, kind: number, uptimeNames: readonly string[]): void {
  around.kind = kind;
  around.processMs = processOf(around.component?.uptimes.get(uptimeNames[kind - DATED] ?? ''));
}

/** The same within one block. Locals and columns only: this is what a page's judgement costs. */
function judgeRun(
  { table, options, time, quiet: { kinds, uptimeNames } }: Judging,
  from: number,
  to: number,
  { block, around }: { readonly block: number; readonly around: Surroundings },
): number {
  const { page, seen, role, metric, block: blockOf, fate, twins, createdRows } = table;
  const { value, timeMs, processMs, lastValue, lastTimeMs, movedAtMs, flags } = table;
  const { nowMs, futureMs, monotonicMs } = time;
  const { honorTimestamps } = options;
  const hasTwins = twins.size > 0;
  const hasCreated = createdRows.size > 0;
  for (let row = from; row < to; row++) {
    if (blockOf[row] !== block || seen[row] !== page || role[row] !== ROLE.scalar) return row;
    const kind = kinds[metric[row] ?? 0] ?? NEVER;
    if (kind === NEVER || (hasTwins && twins.has(row))) return row;
    const stampMs = timeMs[row] ?? Number.NaN;
    const isExplicit = honorTimestamps && stampMs === stampMs;
    const sentMs = isExplicit ? stampMs : nowMs;
    // Without a sample before, or after one from a clock that was wrong, these are false.
    if (!(sentMs > (lastTimeMs[row] ?? Number.NaN) && sentMs <= futureMs && sentMs > 0)) return row;
    const now = value[row] ?? Number.NaN;
    if (kind >= COUNTER) {
      const knownMs = processMs[row] ?? Number.NaN;
      if (!(now >= (lastValue[row] ?? Number.NaN)) || knownMs !== knownMs) return row;
      if (kind >= DATED) {
        if (kind !== around.kind) askProcess(around, kind, uptimeNames);
        if (knownMs !== around.processMs && around.processMs !== NO_PROCESS) return row;
      }
      if (hasCreated && createdRows.has(row)) return row;
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
