// The evidence for start times (otlp-mapping F5): each component has series that tell how long it has been up, so
// it started at the time of that sample minus its value. In: the uptime rows of this page, before any counter is
// judged. Out: the start of each component, which moves at a restart and not with the jitter of stamps and of whole
// seconds.

import type { SeriesTable } from '../../model.ts';
import type { Component, UptimeEvidence } from '../../table-memory.ts';
import type { PageTime } from './page-time.ts';

/** Uptimes are whole seconds and the store's stamps jitter: a start that moves by less has not moved. */
export const UPTIME_JITTER_MS = 5_000;

/** Weighs the uptime series of every component that stand on this page. */
export function weighUptimes(table: SeriesTable, time: PageTime, honorTimestamps: boolean): void {
  for (const component of table.components) {
    for (const evidence of component.uptimes.values()) {
      if (table.seen[evidence.row] !== table.page) continue;
      const stampMs = table.timeMs[evidence.row] ?? Number.NaN;
      const isImplicit = !honorTimestamps || Number.isNaN(stampMs);
      const sampleMs = isImplicit ? time.nowMs : stampMs;
      weigh(component, evidence, table.value[evidence.row] ?? Number.NaN, { sampleMs, time });
    }
  }
}

/** A restart shows as a value that fell, or as a start later than the previous uptime sample. */
function weigh(
  component: Component,
  evidence: UptimeEvidence,
  value: number,
  at: { readonly sampleMs: number; readonly time: PageTime },
): void {
  const { sampleMs, time } = at;
  const startMs = Math.round(sampleMs - value * 1000);
  if (!(value >= 0 && startMs > 0) || sampleMs > time.futureMs) return;
  if (evidence.timeMs > time.futureMs) Object.assign(evidence, NO_EVIDENCE);
  // A sample that was seen before says nothing new, nor does an older one.
  if (sampleMs <= evidence.timeMs) return;
  const isFirst = Number.isNaN(evidence.startMs);
  const hasFallen = value < evidence.value && startMs > evidence.startMs + UPTIME_JITTER_MS;
  const isLater = startMs > evidence.timeMs + UPTIME_JITTER_MS;
  const isRestart = hasFallen || (isLater && !isClockStep(evidence, value, at));
  if (isFirst || isRestart) {
    evidence.startMs = startMs;
    const { newestStartMs } = component;
    if (!(newestStartMs >= startMs)) component.newestStartMs = startMs;
  }
  evidence.value = value;
  evidence.timeMs = sampleMs;
  evidence.seenAtMs = time.monotonicMs;
}

/** Evidence before the first sample. */
export const NO_EVIDENCE: Omit<UptimeEvidence, 'row'> = {
  value: Number.NaN,
  timeMs: Number.NaN,
  seenAtMs: Number.NaN,
  startMs: Number.NaN,
};

/** The uptime grew by just the time that passed here: the process lived on, and the stamps' clock was set ahead. */
function isClockStep(
  evidence: UptimeEvidence,
  value: number,
  at: { readonly sampleMs: number; readonly time: PageTime },
): boolean {
  const elapsedMs = at.time.monotonicMs - evidence.seenAtMs;
  const grownMs = (value - evidence.value) * 1000;
  const stampedMs = at.sampleMs - evidence.timeMs;
  return (
    Math.abs(grownMs - elapsedMs) <= UPTIME_JITTER_MS && stampedMs - elapsedMs > UPTIME_JITTER_MS
  );
}
