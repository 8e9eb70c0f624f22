// The state of one archive between pulls, and its transitions: when it is downloaded, when its open records go out,
// when it is given up, when it is closed. Pure; times are by the service's clock.
//
//   new ─▶ read ─▶ unchanged once ─▶ unchanged twice ─▶ flushed ─▶ closed (when its day is over)
//           ▲            │ its listed size changed         │
//           └────────────┴─────────────────────────────────┘        broken five times ─▶ set aside

import type { ArchiveFault } from './archive.ts';
import type { EntryProgress } from './entry-reader.ts';
import { DAY_MS } from './cursor.ts';

/** A fault in its bytes, or `refused`: the service lists the archive and refuses the download. */
export type SetAsideReason = ArchiveFault | 'refused';

/** Plain data that is stored as it is. */
export interface ArchiveState {
  readonly dayMs: number;
  /** In the last list; null where the list has no sizes. */
  readonly listedSize: number | null;
  /** True once it has been read to its end; `readSize` is what was listed then, `readBytes` what it held unpacked. */
  readonly isRead: boolean;
  readonly readSize: number | null;
  readonly readBytes: number;
  /** How often it was listed (or read, without a size) since then and had not grown. */
  readonly quietCount: number;
  /** True when what was held back has gone out. */
  readonly isFlushed: boolean;
  /** Tries in a row that found it broken. */
  readonly tryCount: number;
  readonly nextTryMs: number;
  /** '' unless it was set aside; `setAsideSize` is what was listed then. */
  readonly setAside: SetAsideReason | '';
  readonly setAsideSize: number | null;
  /** While it is not listed any more: up to when the service's lists were read before that. */
  readonly absentFromMs: number | null;
  /** By the name of the entry. */
  readonly entries: Readonly<Record<string, EntryProgress>>;
}

/** What to do with an archive now. `final` is a download, too, after which nothing is held back. */
export type ArchiveAction = 'download' | 'final' | 'flush' | 'nothing';

/** An open record goes out after so many looks at an archive that did not grow. */
const QUIET_COUNT = 2;
/**
 * How long to wait after each try that found it broken; after the last it is set aside. A little less than whole
 * intervals, since a pull comes a little early now and then.
 */
const TRY_WAITS_MS = [240_000, 540_000, 840_000, 1_740_000];
/** An archive that was set aside and has changed since gets another try. */
const SECOND_CHANCE_MS = 3_600_000;
const FINAL_FAULTS: ReadonlySet<string> = new Set(['encrypted', 'nested', 'method']);

export function newArchive(dayMs: number): ArchiveState {
  return {
    dayMs,
    listedSize: null,
    isRead: false,
    readSize: null,
    readBytes: 0,
    quietCount: 0,
    isFlushed: false,
    tryCount: 0,
    nextTryMs: 0,
    setAside: '',
    setAsideSize: null,
    absentFromMs: null,
    entries: {},
  };
}

/** After a list that had it; the same object where nothing has changed. */
export function afterListed(known: ArchiveState, size: number | null): ArchiveState {
  const state = known.absentFromMs === null ? known : { ...known, absentFromMs: null };
  if (size !== state.listedSize)
    return { ...state, listedSize: size, quietCount: 0, isFlushed: false };
  return isCurrent(state) ? quieter(state) : state;
}

/** After a whole list that did not have it; `listedMs` is up to when the lists before had been read. */
export function afterAbsent(state: ArchiveState, listedMs: number): ArchiveState {
  if (state.absentFromMs === null) return { ...state, absentFromMs: listedMs, quietCount: 1 };
  return quieter(state);
}

/** Listed no more, for long enough to be sure of it, and what was held back has gone out. */
export function isVanished(state: ArchiveState): boolean {
  const { absentFromMs, quietCount, isFlushed, isRead } = state;
  return absentFromMs !== null && quietCount >= QUIET_COUNT && (isFlushed || !isRead);
}

/** From when on something of an archive that has vanished may never have been read; null where all of it was. */
export function lostFromMs(state: ArchiveState): number | null {
  const { absentFromMs, dayMs } = state;
  if (absentFromMs === null || state.setAside !== '') return null;
  if (!isCurrent(state)) return dayMs;
  // It may have grown until the end of its day without anybody looking.
  return absentFromMs < dayMs + DAY_MS ? Math.max(dayMs, absentFromMs) : null;
}

function quieter(state: ArchiveState): ArchiveState {
  if (state.quietCount >= QUIET_COUNT) return state;
  return { ...state, quietCount: state.quietCount + 1 };
}

/** `graceMs`: how long after the end of its day it may still grow. */
export function actionFor(state: ArchiveState, nowMs: number, graceMs: number): ArchiveAction {
  if (state.setAside !== '') return secondChance(state, nowMs) ? 'download' : 'nothing';
  if (state.tryCount > 0 && nowMs < state.nextTryMs) return 'nothing';
  const isQuiet = state.quietCount >= QUIET_COUNT;
  // What is not listed cannot be downloaded.
  if (state.absentFromMs !== null)
    return isQuiet && state.isRead && !state.isFlushed ? 'flush' : 'nothing';
  // Without a size in the list, only reading shows whether it has grown: until nothing is expected any more.
  if (state.listedSize === null && isQuiet && state.isFlushed)
    return nowMs < state.dayMs + DAY_MS + graceMs ? 'download' : 'nothing';
  if (!isCurrent(state)) return isQuiet ? 'final' : 'download';
  if (!isQuiet || state.isFlushed) return 'nothing';
  return Object.values(state.entries).some(({ hasTail }) => hasTail) ? 'final' : 'flush';
}

/** After it was read to its end; `bytes` is what it holds unpacked. */
export function afterRead(state: ArchiveState, bytes: number, isFinal: boolean): ArchiveState {
  const isSame = state.isRead && state.readBytes === bytes;
  const isUnsized = state.listedSize === null;
  const quietCount = isUnsized ? (isSame ? state.quietCount + 1 : 0) : state.quietCount;
  const isStillFlushed = isUnsized && isSame && state.isFlushed;
  return {
    ...state,
    isRead: true,
    readSize: state.listedSize,
    readBytes: bytes,
    quietCount,
    isFlushed: isFinal || isStillFlushed,
    tryCount: 0,
    nextTryMs: 0,
    setAside: '',
    setAsideSize: null,
  };
}

/** After what was held back went out without a download. */
export function afterFlush(state: ArchiveState, entries: ArchiveState['entries']): ArchiveState {
  return { ...state, entries, isFlushed: true };
}

/** True when, found broken for this reason, it is (or stays) set aside. */
export function isLastTry(state: ArchiveState, reason: SetAsideReason): boolean {
  const isOut = state.tryCount >= TRY_WAITS_MS.length;
  return isOut || isFinalReason(reason) || state.setAside !== '';
}

/** After it was found broken: another try later, or set aside, at once where no try would help. */
export function afterFault(
  state: ArchiveState,
  reason: SetAsideReason,
  nowMs: number,
): ArchiveState {
  const waitMs = TRY_WAITS_MS[state.tryCount];
  if (waitMs !== undefined && !isLastTry(state, reason))
    return { ...state, tryCount: state.tryCount + 1, nextTryMs: nowMs + waitMs };
  return {
    ...state,
    tryCount: state.tryCount + 1,
    nextTryMs: nowMs + SECOND_CHANCE_MS,
    setAside: reason,
    setAsideSize: state.listedSize,
  };
}

/** True when nothing is expected of it any more, once its day is over. */
export function isClosed(state: ArchiveState): boolean {
  if (state.setAside !== '') return true;
  const isWhole = isCurrent(state) || (state.listedSize === null && state.isRead);
  return isWhole && state.isFlushed && state.quietCount >= QUIET_COUNT;
}

/** True when it has been read in the size in which it is listed. */
export function isCurrent(state: ArchiveState): boolean {
  return state.isRead && state.listedSize !== null && state.listedSize === state.readSize;
}

function isFinalReason(reason: SetAsideReason): boolean {
  return reason.endsWith('_limit') || FINAL_FAULTS.has(reason);
}

function secondChance(state: ArchiveState, nowMs: number): boolean {
  const hasChanged = state.listedSize !== state.setAsideSize;
  return hasChanged && nowMs >= state.nextTryMs && !isFinalReason(state.setAside || 'damaged');
}
