// Judges the rows of a page one after the other: what stands in a sample's way, what it is as an observation, whether
// a series that is missing has ended. In: the table with its rows resolved and its uptimes weighed. Out: the fate of
// every row, and of every sample a count. Nothing is allocated for a row whose series is known.

import type { Metric } from '../../model/metric.ts';
import { FATE, NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import { type Compound, NO_PROCESS } from '../../model/memory.ts';
import { isOnPage, judgeCompound, partsOf, settleSpellings } from './compound.ts';
import { observeCompound, observeScalar, type Observing, type Place } from './observe.ts';
import type { DeriveOptions } from './options.ts';
import { processOf } from './reset.ts';
import { readTargetInfo } from './resolve.ts';
import { endIfStale } from './stale.ts';
import { blockOfRow, countFate, type Tally } from './tally.ts';

/** What is judged with, and by what is counted. */
export interface Judging extends Observing {
  readonly tallies: readonly Tally[];
  /** Rows that have been gone for so long are to be given up. */
  readonly keepMs: number;
  /** Such rows, found on the way. */
  readonly gone: number[];
  /** By block; see lookAround(). */
  readonly surroundings: (Surroundings | undefined)[];
  /** By metric; see quietMetrics(). */
  readonly quiet: QuietMetrics;
}

/** What the rows of one block have in common. */
export interface Surroundings extends Place {
  /** The fate that all of them meet, or FATE.none. */
  readonly barrier: number;
  readonly tally: Tally | undefined;
  /** The quiet kind that was asked for last, and the process that counters of that kind belong to; see judgeQuietRows(). */
  kind: number;
  processMs: number;
}

const NOWHERE: Surroundings = {
  block: {
    service: NO_ROW,
    component: -1,
    scope: { name: '', version: '', schemaUrl: '', attributes: [] },
    movedPage: 0,
  },
  component: undefined,
  barrier: FATE.unconfigured,
  tally: undefined,
  kind: 0,
  processMs: NO_PROCESS,
};

/** Judges rows [from, to): all scalars, and of histograms and summaries what stands in their way. */
export function judgeRows(judging: Judging, from: number, to: number): void {
  for (let row = from; row < to; row++) {
    row = judgeQuietRows(judging, row, to);
    if (row < to) judgeAnyRow(judging, row);
  }
}

function judgeAnyRow(judging: Judging, row: number): void {
  const { table, time } = judging;
  const { fate, movedAtMs } = table;
  if (table.keyLength[row] === 0 || table.role[row] === ROLE.synthetic) return;
  fate[row] = FATE.none;
  const metric = table.metrics[table.metric[row]!]!;
  if (table.seen[row] !== table.page) return missRow(judging, row, metric);
  const around = lookAround(judging, row);
  const outcome = judgeRow(judging, row, metric, around);
  fate[row] = outcome;
  if (outcome === FATE.part) {
    if (table.head[row] !== row) movedAtMs[row] = time.monotonicMs;
    return;
  }
  countFate(around.tally, outcome);
  if (outcome === FATE.consumed) movedAtMs[row] = time.monotonicMs;
  else if (!isCompound(metric)) settle(judging, row, outcome, around.tally);
}

/** True for metrics whose points are made of several rows. */
function isCompound(metric: Metric): boolean {
  return metric.kind === 'histogram' || metric.kind === 'summary';
}

/** What surrounds a row that is on the page; found out once per block and page. */
export function lookAround(judging: Judging, row: number): Surroundings {
  const { table, tallies, time, options } = judging;
  const index = table.block[row]!;
  const known = judging.surroundings[index];
  if (known !== undefined) return known;
  const block = table.blocks[index];
  const slot = table.services[block?.service ?? NO_ROW];
  if (block === undefined || slot === undefined) return NOWHERE;
  slot.seenPage = table.page;
  const component = table.components[block.component];
  const tally = tallies[block.service];
  let barrier: number = FATE.none;
  if (!slot.isSent) barrier = slot.isElsewhere ? FATE.otherShard : FATE.unconfigured;
  else if ((tally?.reason ?? '') !== '') barrier = FATE.serviceFailed;
  else if (component !== undefined && !(component.firstTimeMs <= time.futureMs)) {
    const stampMs = table.timeMs[row]!;
    const isImplicit = !options.honorTimestamps || Number.isNaN(stampMs);
    component.firstTimeMs = isImplicit ? time.nowMs : stampMs;
  }
  const around = { block, component, barrier, tally, kind: 0, processMs: NO_PROCESS };
  judging.surroundings[index] = around;
  return around;
}

function judgeRow(judging: Judging, row: number, metric: Metric, around: Surroundings): number {
  const { table } = judging;
  const role = table.role[row];
  if (around.barrier !== FATE.none) return around.barrier;
  if (role === ROLE.metadata) {
    readTargetInfo(table, around.block.service, row);
    return FATE.consumed;
  }
  if (!metric.isIncluded) return FATE.excluded;
  if (isCompound(metric)) {
    if (metric.declared === 'gaugehistogram') return FATE.gaugeHistogram;
    if (table.head[row] !== row || table.compounds.has(row)) return FATE.part;
    // The family's bare name, which these types do not have, or a quantile that is none.
    return metric.kind === 'histogram' ? FATE.histogramInvalid : FATE.summaryInvalid;
  }
  if (role !== ROLE.scalar) return FATE.consumed;
  if (table.twins.size > 0 && table.twins.has(row)) return FATE.duplicate;
  return observeScalar(judging, row, metric, around);
}

/** A head has its outcome: counts its point, or ends its series if there has been none for long. */
function settle(judging: Judging, head: number, outcome: number, tally: Tally | undefined): void {
  if (outcome === FATE.point) {
    if (tally !== undefined) tally.points++;
  } else if (
    outcome !== FATE.baseline &&
    endIfStale(judging, head, outcome === FATE.serviceFailed)
  ) {
    if (tally !== undefined) tally.stale++;
  }
}

/** A row that is not on the page: its series may have ended, and after a long time the row is given up. */
function missRow(judging: Judging, row: number, metric: Metric): void {
  const { table, time, tallies } = judging;
  if (!isCompound(metric) && endIfStale(judging, row, true)) {
    const tally = tallies[blockOfRow(table, row)?.service ?? NO_ROW];
    if (tally !== undefined) tally.stale++;
    return;
  }
  // The parts of a point that is gone as a whole go with its head, which still has to be ended.
  const head = table.head[row] ?? row;
  const compound = isCompound(metric) ? table.compounds.get(head) : undefined;
  const owner = compound === undefined || isOnPage(table, compound.count) ? row : head;
  const movedAtMs = table.movedAtMs[owner]!;
  const flags = table.flags[owner]!;
  const isOpen = (flags & (ROW_FLAG.sent | ROW_FLAG.staleSent)) === ROW_FLAG.sent;
  if (Number.isNaN(movedAtMs)) table.movedAtMs[row] = time.monotonicMs;
  else if (!isOpen && time.monotonicMs - movedAtMs >= judging.keepMs) judging.gone.push(row);
}

/** Judges all histograms and summaries; call it after all rows. Yields after every `slice` of them. */
export function* judgeCompounds(judging: Judging, slice: number): Generator<void, void> {
  const parts: number[] = [];
  let left = slice;
  for (const [head, compound] of judging.table.compounds) {
    judgePoint(judging, head, compound, parts);
    if (--left > 0) continue;
    left = slice;
    yield;
  }
}

function judgePoint(judging: Judging, head: number, compound: Compound, parts: number[]): void {
  const { table, options } = judging;
  const metric = table.metrics[table.metric[head]!];
  const block = blockOfRow(table, head);
  if (metric === undefined || block === undefined) return;
  const tally = judging.tallies[block.service];
  settleSpellings(table, compound);
  partsOf(table, compound, parts);
  const hasCreated = isOnPage(table, compound.created);
  const first = parts[0] ?? (hasCreated ? compound.created : NO_ROW);
  if (first === NO_ROW || table.fate[first] !== FATE.part) {
    // Gone, or all of its rows met the same barrier, and are counted.
    const isGone = first === NO_ROW || table.fate[first] === FATE.serviceFailed;
    if (endIfStale(judging, head, isGone) && tally !== undefined) tally.stale++;
    return;
  }
  let fate: number = FATE.duplicate;
  if (!table.twins.has(head))
    fate = judgeCompound(table, head, compound, {
      parts,
      honorTimestamps: options.honorTimestamps,
    });
  if (fate === FATE.point) {
    const place = { block, component: table.components[block.component] };
    fate = observeCompound(judging, head, compound, { metric, place, parts });
  }
  for (const row of parts) {
    table.fate[row] = fate === FATE.point ? FATE.part : fate;
    countFate(tally, fate === FATE.point ? FATE.part : fate);
  }
  if (hasCreated) {
    table.fate[compound.created] = FATE.consumed;
    countFate(tally, FATE.consumed);
  }
  table.fate[head] = fate;
  settle(judging, head, fate, tally);
}

// The quiet rows: those for which nothing has happened, almost all rows of almost every page. A number whose series is
// known, with a later time than before and nothing in its way; of a counter, neither a fall nor a restart. They get
// exactly what judgeAnyRow() would give them, and are counted in runs of one block.

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
function judgeQuietRows(judging: Judging, from: number, to: number): number {
  const { surroundings } = judging;
  const blockOf = judging.table.block;
  for (let row = from; row < to; ) {
    const block = blockOf[row]!;
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
  tally.fates[FATE.point] = tally.fates[FATE.point]! + count;
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
    const kind = kinds[metric[row]!] ?? NEVER;
    if (kind === NEVER || (hasTwins && twins.has(row))) return row;
    const stampMs = timeMs[row]!;
    const isExplicit = honorTimestamps && stampMs === stampMs;
    const sentMs = isExplicit ? stampMs : nowMs;
    // Without a sample before, or after one from a clock that was wrong, these are false.
    if (!(sentMs > lastTimeMs[row]! && sentMs <= futureMs && sentMs > 0)) return row;
    const now = value[row]!;
    if (kind >= COUNTER) {
      const knownMs = processMs[row]!;
      if (!(now >= lastValue[row]!) || knownMs !== knownMs) return row;
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
    const kept = flags[row]! & CLEARED;
    if (isExplicit) flags[row] = kept | ROW_FLAG.sent | ROW_FLAG.explicitTime;
    else {
      flags[row] = kept | ROW_FLAG.sent;
      timeMs[row] = nowMs;
    }
  }
  return to;
}
