// Start times (otlp-mapping F4 to F7): when a counter, histogram or summary began to count. In: a sample, whether its
// value fell, and what the page (`_created`) or the component's uptime says of the start. Out: startMs of the row.
// Guarantees: a start is never later than its point and never goes back.
//
// A start moves for two reasons. A restart that the uptime tells, and a fall of the value that nothing tells: then the
// previous sample is the latest moment at which the new stream can have begun. When such a fall was in truth a restart
// whose evidence came late, the evidence is recognised by its time and moves nothing: one restart, one move.

import { ROW_FLAG, type SeriesTable } from '../../model.ts';
import { UPTIME_JITTER_MS } from './uptime.ts';

/** What there is to know of a cumulative sample beside its row. Times in ms, NaN where there is none. */
export interface StartFacts {
  readonly timeMs: number;
  /** What the component's uptime says. */
  readonly derivedMs: number;
  /** What the page says. */
  readonly createdMs: number;
  readonly hasFallen: boolean;
  /** False where only the page's own word counts: in strict mode, and without start_times. */
  readonly mayDerive: boolean;
}

/** Sets startMs of a row for a sample that has been accepted. */
export function moveStart(table: SeriesTable, row: number, facts: StartFacts): void {
  const { timeMs, createdMs, derivedMs, hasFallen, mayDerive } = facts;
  const startMs = table.startMs[row] ?? Number.NaN;
  const isTold = createdMs > 0 && createdMs <= timeMs;
  if (isTold && !(createdMs <= startMs)) begin(table, row, createdMs);
  else if (!mayDerive) return;
  else if (Number.isNaN(startMs)) begin(table, row, derivedMs <= timeMs ? derivedMs : timeMs);
  else if (!isTold && isRestart(table, row, startMs, facts)) begin(table, row, derivedMs);
  else if (hasFallen) {
    begin(table, row, Math.max(table.lastTimeMs[row] ?? startMs, startMs));
    table.streamAtMs[row] = timeMs;
    table.flags[row] = (table.flags[row] ?? 0) | ROW_FLAG.unexplained;
  }
}

/** True when the uptime tells of a restart that this row has not taken into account. */
function isRestart(table: SeriesTable, row: number, startMs: number, facts: StartFacts): boolean {
  const { timeMs, derivedMs } = facts;
  if (!(derivedMs > startMs + UPTIME_JITTER_MS && derivedMs <= timeMs)) return false;
  const isUnexplained = ((table.flags[row] ?? 0) & ROW_FLAG.unexplained) !== 0;
  return !isUnexplained || derivedMs > (table.streamAtMs[row] ?? 0) + UPTIME_JITTER_MS;
}

function begin(table: SeriesTable, row: number, startMs: number): void {
  table.savedStarts = null;
  table.startMs[row] = startMs;
  table.flags[row] = (table.flags[row] ?? 0) & ~ROW_FLAG.unexplained;
}
