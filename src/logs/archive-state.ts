// The state of one archive between pulls, and its transitions: when it is downloaded, when its open records are sent,
// when it is given up, when it is closed. Pure; times are by the service's clock.
//
//   new ─▶ read ─▶ unchanged once ─▶ unchanged twice ─▶ read finally ─▶ closed (when its day is over)
//           ▲            │ its listed size changed              │
//           └────────────┴──────────────────────────────────────┘   broken five times ─▶ given up for its size

import { DAY_MS, HOUR_MS } from '../lib/clock.ts';
import type { Span } from './cursor.ts';
import type { Descriptor } from './item.ts';
import type { ArchiveState } from './stored-state.ts';

export type { ArchiveState } from './stored-state.ts';

/** The next step for an archive. `final` is a download that also sends open records; `flush` sends them without one. */
export type ArchiveAction = 'download' | 'final' | 'flush' | 'nothing';

/** Open records are sent after this many checks without growth. */
const QUIET_COUNT = 2;
/**
 * The waits after each try that found it broken; after the last try it is given up. They are a little shorter than whole
 * intervals, because a pull may come early.
 */
const TRY_WAITS_MS = [240_000, 540_000, 840_000, 1_740_000];

export function newArchive({ dayMs, endMs }: Pick<Descriptor, 'dayMs' | 'endMs'>): ArchiveState {
  return {
    dayMs,
    endMs,
    listedSize: null,
    isRead: false,
    readSize: null,
    readBytes: 0,
    quietCount: 0,
    isFlushed: false,
    tryCount: 0,
    nextTryMs: 0,
    givenUp: null,
    absent: null,
    entries: {},
  };
}

/** The time up to which it may grow. */
export function endOf({ dayMs, endMs }: ArchiveState): number {
  return endMs ?? dayMs + DAY_MS;
}

/** The state after a list that contains it; the same object if nothing has changed. */
export function afterListed(known: ArchiveState, size: number | null): ArchiveState {
  const state = known.absent === null ? known : { ...known, absent: null };
  if (size === state.listedSize) return isCurrent(state) ? quieter(state) : state;
  const grown = { ...state, listedSize: size, quietCount: 0, isFlushed: false };
  // Another size starts anew.
  return isGivenUp(state) ? { ...grown, givenUp: null, tryCount: 0, nextTryMs: 0 } : grown;
}

/** The state after a list without it; logs of the time `lost` may be lost by that. */
export function afterAbsent(state: ArchiveState, lost: Span): ArchiveState {
  const { absent } = state;
  if (absent === null) return { ...state, absent: lost, quietCount: 1 };
  const { fromMs, toMs } = absent;
  return quieter(lost.toMs > toMs ? { ...state, absent: { fromMs, toMs: lost.toMs } } : state);
}

/** True when it was missing from enough lists, and its open records were sent. */
export function isVanished({ absent, quietCount, isFlushed, isRead }: ArchiveState): boolean {
  return absent !== null && quietCount >= QUIET_COUNT && (isFlushed || !isRead);
}

/** The time of which a vanished archive may have had unread records; null when everything was read, or was given up. */
export function lostSpan(state: ArchiveState, graceMs: number): Span | null {
  const { absent, dayMs, readFromMs = dayMs } = state;
  if (absent === null || isGivenUp(state)) return null;
  const { toMs } = absent;
  if (isBehind(state)) return { fromMs: dayMs, toMs };
  // It may have grown unseen until its end.
  const seenMs = state.listedSize === null ? readFromMs : absent.fromMs;
  const isLost = state.listedSize === null ? mayHaveGrown(state, graceMs) : true;
  return isLost && seenMs < endOf(state) ? { fromMs: Math.max(dayMs, seenMs), toMs } : null;
}

function quieter(state: ArchiveState): ArchiveState {
  if (state.quietCount >= QUIET_COUNT) return state;
  return { ...state, quietCount: state.quietCount + 1 };
}

/** `graceMs`: how long after its end it may still grow. */
export function actionFor(state: ArchiveState, nowMs: number, graceMs: number): ArchiveAction {
  if (state.tryCount > 0 && nowMs < state.nextTryMs) return 'nothing';
  // Without a size, only a download shows whether it has changed since.
  if (isGivenUp(state)) return mayHaveGrown(state, graceMs) ? 'download' : 'nothing';
  const isQuiet = state.quietCount >= QUIET_COUNT;
  // An archive that is not listed cannot be downloaded.
  if (state.absent !== null)
    return isQuiet && state.isRead && !state.isFlushed ? 'flush' : 'nothing';
  if (state.listedSize === null && isQuiet && state.isFlushed)
    return mayHaveGrown(state, graceMs) ? 'download' : 'nothing';
  if (!isCurrent(state)) return isQuiet ? 'final' : 'download';
  // The bytes that were held back are read again; and the last answer may have been an old one, or a part.
  return isQuiet && !state.isFlushed ? 'final' : 'nothing';
}

/** A read to the end of an archive. */
interface WholeRead {
  readonly fromMs: number;
  /** Its unpacked size. */
  readonly bytes: number;
  readonly isFinal: boolean;
}

/** The state after it was read to its end. */
export function afterRead(
  state: ArchiveState,
  { fromMs, bytes, isFinal }: WholeRead,
): ArchiveState {
  const isSame = state.isRead && state.readBytes === bytes;
  const isUnsized = state.listedSize === null;
  const quietCount = isUnsized ? (isSame ? state.quietCount + 1 : 0) : state.quietCount;
  const isStillFlushed = isUnsized && isSame && state.isFlushed;
  return {
    ...state,
    isRead: true,
    readSize: state.listedSize,
    readBytes: bytes,
    readFromMs: fromMs,
    quietCount,
    isFlushed: isFinal || isStillFlushed,
    tryCount: 0,
    nextTryMs: 0,
    givenUp: null,
  };
}

/** The state after its open records were sent without a download. */
export function afterFlush(state: ArchiveState, entries: ArchiveState['entries']): ArchiveState {
  return { ...state, entries, isFlushed: true };
}

/** True when another fault gives it up. */
export function isLastTry({ tryCount }: ArchiveState): boolean {
  return tryCount >= TRY_WAITS_MS.length;
}

/** The state after it was found broken: it is tried again later, or given up for its listed size. */
export function afterFault(state: ArchiveState, nowMs: number): ArchiveState {
  const waitMs = TRY_WAITS_MS[state.tryCount];
  return waitMs === undefined
    ? { ...state, givenUp: { size: state.listedSize }, nextTryMs: nowMs + HOUR_MS }
    : { ...state, tryCount: state.tryCount + 1, nextTryMs: nowMs + waitMs };
}

/** True while its listed size is the one for which it was given up. */
export function isGivenUp({ givenUp, listedSize }: ArchiveState): boolean {
  return givenUp !== null && givenUp.size === listedSize;
}

/** True when nothing more is expected of it, once its day is over. `graceMs`: as for `actionFor`. */
export function isClosed(state: ArchiveState, graceMs: number): boolean {
  const isSent = state.isFlushed && state.quietCount >= QUIET_COUNT;
  return isGivenUp(state) || (isWhole(state) && isSent && !mayHaveGrown(state, graceMs));
}

/** Without a size in the list, only a read shows whether it has grown: the last one must begin after the grace period. */
function mayHaveGrown(state: ArchiveState, graceMs: number): boolean {
  const { listedSize, readFromMs = -Infinity } = state;
  return listedSize === null && readFromMs < endOf(state) + graceMs;
}

/** True while some of it is still to be read. */
export function isBehind(state: ArchiveState): boolean {
  return !isGivenUp(state) && !isWhole(state);
}

/** Without a size in the list, it is only known whether the archive was read. */
function isWhole(state: ArchiveState): boolean {
  return isCurrent(state) || (state.listedSize === null && state.isRead);
}

/** True when it was read in the size that is listed now. */
function isCurrent(state: ArchiveState): boolean {
  return state.isRead && state.listedSize !== null && state.listedSize === state.readSize;
}
