// The state of one archive between pulls, and its transitions: when it is downloaded, when its open records are sent,
// when it is given up, when it is closed. Pure; times are by the service's clock.
//
//   new ─▶ read ─▶ unchanged once ─▶ unchanged twice ─▶ flushed ─▶ closed (when its day is over)
//           ▲            │ its listed size changed         │
//           └────────────┴─────────────────────────────────┘        broken five times ─▶ set aside ─▶ six chances

import { DAY_MS } from '../lib/clock.ts';
import type { ArchiveFault } from './archive.ts';
import type { Span } from './cursor.ts';
import type { EntryProgress } from './entry-reader.ts';
import type { Descriptor } from './item.ts';

/** Plain data, stored as JSON. */
export interface ArchiveState {
  readonly dayMs: number;
  /** Descriptor.endMs. Earlier versions did not store it. */
  readonly endMs?: number;
  /** True once it had a line without a time from the service. Earlier versions did not store it. */
  readonly isUntimed?: boolean;
  /** The size in the last list; null when the list has no sizes. */
  readonly listedSize: number | null;
  /** True once it was read to its end; `readSize` is the listed size then, `readBytes` its unpacked size. */
  readonly isRead: boolean;
  readonly readSize: number | null;
  readonly readBytes: number;
  /** When its last read to the end began. Earlier versions did not store it. */
  readonly readFromMs?: number;
  /** How often in a row it was listed (or read, without a size) without having grown. */
  readonly quietCount: number;
  /** True once its open records were sent. */
  readonly isFlushed: boolean;
  /** The number of tries in a row that found it broken or could not download it. */
  readonly tryCount: number;
  readonly nextTryMs: number;
  /** Since when the service delivers other archives but not this one; else null. Earlier versions did not store it. */
  readonly undeliveredMs?: number | null;
  /** True if the last download may have been a wrong or old answer: it is downloaded again before it counts as whole. */
  readonly isDoubtful?: boolean;
  /** '' unless it was set aside; `setAsideSize` is the listed size then. */
  readonly setAside: ArchiveFault | '';
  readonly setAsideSize: number | null;
  /** While it is no longer listed: the time up to which logs had been listed before. Else null. */
  readonly absentFromMs: number | null;
  /** By entry name. */
  readonly entries: Readonly<Record<string, EntryProgress>>;
}

/** The next step for an archive. `final` is a download that also sends open records. */
export type ArchiveAction = 'download' | 'final' | 'flush' | 'nothing';

/** Open records are sent after this many checks without growth. */
const QUIET_COUNT = 2;
/**
 * The waits after each try that found it broken; after the last one it is set aside. They are a little shorter than
 * whole intervals, because a pull may come early.
 */
const TRY_WAITS_MS = [240_000, 540_000, 840_000, 1_740_000];
/** The wait before an archive's first chance. It doubles each time: the last chance comes after two and a half days. */
const CHANCE_WAIT_MS = 3_600_000;
const CHANCES_MAX = 6;
const FINAL_FAULTS: ReadonlySet<string> = new Set(['encrypted', 'nested', 'method']);

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
    undeliveredMs: null,
    setAside: '',
    setAsideSize: null,
    absentFromMs: null,
    entries: {},
  };
}

/** The time up to which it may grow. */
export function endOf({ dayMs, endMs }: ArchiveState): number {
  return endMs ?? dayMs + DAY_MS;
}

/** The state after a list that contains it; the same object if nothing has changed. */
export function afterListed(known: ArchiveState, size: number | null): ArchiveState {
  const state = known.absentFromMs === null ? known : { ...known, absentFromMs: null };
  if (size !== state.listedSize)
    return { ...state, listedSize: size, quietCount: 0, isFlushed: false };
  return isCurrent(state) ? quieter(state) : state;
}

/** The state after a complete list without it; logs had been listed up to `listedMs` before. */
export function afterAbsent(state: ArchiveState, listedMs: number): ArchiveState {
  if (state.absentFromMs === null) return { ...state, absentFromMs: listedMs, quietCount: 1 };
  return quieter(state);
}

/** The state after its type alone could not be listed: it may have grown or vanished since `listedMs`. */
export function afterUnlisted(state: ArchiveState, listedMs: number): ArchiveState {
  if (state.absentFromMs !== null) return state;
  return { ...state, absentFromMs: listedMs, quietCount: 0 };
}

/** True when it was missing from enough lists, and its open records were sent, as they are when it is set aside. */
export function isVanished(state: ArchiveState): boolean {
  const { absentFromMs, quietCount, isFlushed, isRead, setAside } = state;
  const isSent = isFlushed || !isRead || setAside !== '';
  return absentFromMs !== null && quietCount >= QUIET_COUNT && isSent;
}

/** The time from which a vanished archive may have unread records; null when everything was read. `graceMs`: as for `actionFor`. */
export function lostFromMs(state: ArchiveState, graceMs: number): number | null {
  const { absentFromMs, dayMs, readFromMs = dayMs } = state;
  if (absentFromMs === null || state.setAside !== '') return null;
  if (state.listedSize === null && state.isRead) {
    const fromMs = Math.max(dayMs, readFromMs);
    return mayHaveGrown(state, graceMs) && fromMs < endOf(state) ? fromMs : null;
  }
  if (!isCurrent(state)) return dayMs;
  // It may have grown unseen until its end.
  return absentFromMs < endOf(state) ? Math.max(dayMs, absentFromMs) : null;
}

/** The state after a gap was reported for this time, in which it had gone. */
export function afterLoss(state: ArchiveState, { fromMs, toMs }: Span): ArchiveState {
  const { readFromMs } = state;
  const isCovered = readFromMs !== undefined && readFromMs >= fromMs;
  return { ...state, absentFromMs: toMs, ...(isCovered && { readFromMs: toMs }) };
}

function quieter(state: ArchiveState): ArchiveState {
  if (state.quietCount >= QUIET_COUNT) return state;
  return { ...state, quietCount: state.quietCount + 1 };
}

/** `graceMs`: how long after its end it may still grow. */
export function actionFor(state: ArchiveState, nowMs: number, graceMs: number): ArchiveAction {
  if (state.setAside !== '') return isChanceDue(state, nowMs) ? 'download' : 'nothing';
  if (state.tryCount > 0 && nowMs < state.nextTryMs) return 'nothing';
  const isQuiet = state.quietCount >= QUIET_COUNT;
  // An archive that is not listed cannot be downloaded.
  if (state.absentFromMs !== null)
    return isQuiet && state.isRead && !state.isFlushed ? 'flush' : 'nothing';
  if (state.listedSize === null && isQuiet && state.isFlushed)
    return mayHaveGrown(state, graceMs) ? 'download' : 'nothing';
  if (!isCurrent(state)) return isQuiet ? 'final' : 'download';
  if (!isQuiet || state.isFlushed) return 'nothing';
  const hasTail = Object.values(state.entries).some(one => one.hasTail);
  return hasTail || state.isDoubtful === true ? 'final' : 'flush';
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
  // A file without entries (plain text, gzip) has no ZIP checksums. And an archive that is read again but has no more
  // bytes may be an old answer.
  const isDoubtful =
    Object.hasOwn(state.entries, '') || (state.isRead && !isUnsized && bytes <= state.readBytes);
  return {
    ...state,
    isRead: true,
    readSize: state.listedSize,
    readBytes: bytes,
    readFromMs: fromMs,
    quietCount,
    isDoubtful,
    isFlushed: isFinal || isStillFlushed,
    tryCount: 0,
    nextTryMs: 0,
    undeliveredMs: null,
    setAside: '',
    setAsideSize: null,
  };
}

/** The state after its open records were sent without a download. */
export function afterFlush(state: ArchiveState, entries: ArchiveState['entries']): ArchiveState {
  return { ...state, entries, isFlushed: true };
}

/** True when a fault for this reason sets it aside, or leaves it set aside. */
export function isLastTry(state: ArchiveState, reason: ArchiveFault): boolean {
  const isOut = state.tryCount >= TRY_WAITS_MS.length;
  return isOut || isFinalReason(reason) || state.setAside !== '';
}

/** The state after it was found broken: it is tried again later, or set aside (at once if a retry cannot help). */
export function afterFault(state: ArchiveState, reason: ArchiveFault, nowMs: number): ArchiveState {
  const waitMs = TRY_WAITS_MS[state.tryCount];
  if (waitMs !== undefined && !isLastTry(state, reason))
    return { ...state, tryCount: state.tryCount + 1, nextTryMs: nowMs + waitMs };
  return {
    ...state,
    tryCount: Math.max(state.tryCount, TRY_WAITS_MS.length) + 1,
    nextTryMs: nowMs + CHANCE_WAIT_MS,
    setAside: reason,
    setAsideSize: state.listedSize,
  };
}

/**
 * The state after the service delivered other archives but not this one: it is tried again later, and not set aside.
 * `isSoon`: the second try comes with the next pull.
 */
export function afterUndelivered(state: ArchiveState, nowMs: number, isSoon = false): ArchiveState {
  const { length } = TRY_WAITS_MS;
  const waitMs = TRY_WAITS_MS[Math.min(state.tryCount, length - 1)] ?? 0;
  return {
    ...state,
    // An archive that was set aside keeps its number of chances.
    tryCount: state.setAside === '' ? Math.min(state.tryCount + 1, length - 1) : state.tryCount,
    nextTryMs: isSoon && state.tryCount === 0 ? 0 : nowMs + waitMs,
    undeliveredMs: state.undeliveredMs ?? nowMs,
  };
}

/** True when nothing more is expected of it, once its day is over. `graceMs`: as for `actionFor`. */
export function isClosed(state: ArchiveState, graceMs: number): boolean {
  if (state.setAside !== '') return chancesTaken(state) >= CHANCES_MAX;
  const isSent = state.isFlushed && state.quietCount >= QUIET_COUNT;
  return isWhole(state) && isSent && !mayHaveGrown(state, graceMs);
}

/** Without a size in the list, only a read shows whether it has grown: the last one must begin after the grace period. */
function mayHaveGrown(state: ArchiveState, graceMs: number): boolean {
  const { listedSize, readFromMs = -Infinity } = state;
  return listedSize === null && readFromMs < endOf(state) + graceMs;
}

/** True while some of it is still to be read. */
export function isBehind(state: ArchiveState): boolean {
  return state.setAside === '' && !isWhole(state);
}

/** Without a size in the list, it is only known whether the archive was read. */
function isWhole(state: ArchiveState): boolean {
  return isCurrent(state) || (state.listedSize === null && state.isRead);
}

/** True when it was read in the size that is listed now. */
function isCurrent(state: ArchiveState): boolean {
  return state.isRead && state.listedSize !== null && state.listedSize === state.readSize;
}

function isFinalReason(reason: ArchiveFault): boolean {
  return reason.endsWith('_limit') || FINAL_FAULTS.has(reason);
}

function chancesTaken({ tryCount }: ArchiveState): number {
  return Math.max(0, tryCount - TRY_WAITS_MS.length - 1);
}

/** A chance may help if the answers were wrong, not the archive. Once its size has changed, the wait does not grow. */
function isChanceDue(state: ArchiveState, nowMs: number): boolean {
  const { listedSize, setAside, setAsideSize, nextTryMs } = state;
  if (listedSize !== setAsideSize && setAside !== '' && !isFinalReason(setAside))
    return nowMs >= nextTryMs;
  const count = chancesTaken(state);
  const longerMs = (2 ** count - 1) * CHANCE_WAIT_MS;
  return count < CHANCES_MAX && nowMs >= nextTryMs + longerMs;
}
