// Judges the rows of a page one after the other: what stands in a sample's way, what it is as an observation, whether
// a series that is missing has ended. In: the table with its rows resolved and its uptimes weighed. Out: the fate of
// every row, and of every sample a count. Nothing is allocated for a row whose series is known.

import { FATE, type Metric, NO_ROW, ROLE, ROW_FLAG } from '../../model.ts';
import { type Compound, NO_PROCESS } from '../../table-memory.ts';
import { isOnPage, judgeCompound, partsOf, settleSpellings } from './compound.ts';
import { observeCompound, observeScalar, type Observing, type Place } from './observe.ts';
import { judgeQuietRows, type QuietMetrics } from './quiet-rows.ts';
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
  /** The quiet kind that was asked for last, and the process that counters of that kind belong to; see quiet-rows.ts. */
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
  const metric = table.metrics[table.metric[row] ?? 0];
  if (metric === undefined) return;
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
  const index = table.block[row] ?? NO_ROW;
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
    const stampMs = table.timeMs[row] ?? Number.NaN;
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
  const movedAtMs = table.movedAtMs[owner] ?? Number.NaN;
  const flags = table.flags[owner] ?? 0;
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
  const metric = table.metrics[table.metric[head] ?? 0];
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
