// The rules of time (otlp-mapping F2, F3): whether a point with a time may follow what was sent before. Back ends
// answer 400 to points that go back or conflict, and roll back the whole request with them.

import { FATE } from '../../model/series-table.ts';

/**
 * Judges a sample at `timeMs` against the newest one accepted at `lastTimeMs` (NaN: none). `isSame` says whether
 * value and buckets equal what was accepted; beyond `futureMs` no time is believed.
 */
export function judgeTime(
  timeMs: number,
  lastTimeMs: number,
  isSame: boolean,
  futureMs: number,
): number {
  if (timeMs > futureMs) return FATE.timeFuture;
  if (!(timeMs > 0)) return FATE.timeBackwards;
  if (Number.isNaN(lastTimeMs) || timeMs > lastTimeMs) return FATE.point;
  if (timeMs < lastTimeMs) return FATE.timeBackwards;
  return isSame ? FATE.repeated : FATE.timeConflict;
}

/** Equality of values: NaN equals NaN, and the two zeros are one. */
export function isSameValue(a: number, b: number): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b));
}
