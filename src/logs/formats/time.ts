// Reads the times of log lines: RFC 3339, used by the wrappers around lines, and stamps, which are local times without
// a zone. In: text; for stamps also an index and the zone's IANA name. Out: milliseconds since the epoch, NaN if there
// is no time. A zone's offsets come from Intl, which is slow, so they are cached per hour of local time.
//
// When clocks are set back, an hour occurs twice, and only the order of the lines in their file shows which one is
// meant: 02:59:59 and then 02:00:01 is two seconds later, not an hour earlier.

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { isUtc } from '../../lib/time-zone.ts';
import { fractionOf, nearest, type WrittenTime } from './any-time.ts';

const HOURS_KEPT = 1024;
const BLANK = 0x20;
const ZERO = 0x30;
const COLON = 0x3a;

/** The date form of a stamp; ` HH:MM:SS` follows, where the hour may be padded with a blank. */
export type DateForm = 'YYYY-MM-DD' | 'YYYYMMDD' | 'YYMMDD';

/** The stamp at `at`, in milliseconds since the epoch as if its zone were UTC; NaN if there is none. */
export function readStamp(text: string, at: number, form: DateForm): number {
  const timeAt = at + form.length + 1;
  if (text.charCodeAt(timeAt - 1) !== BLANK) return Number.NaN;
  if (text.charCodeAt(timeAt + 2) !== COLON || text.charCodeAt(timeAt + 5) !== COLON)
    return Number.NaN;
  const date = readDate(text, at, form);
  const padded = text.charCodeAt(timeAt) === BLANK;
  const hour = padded ? digit(text, timeAt + 1) : twoDigits(text, timeAt);
  const minute = twoDigits(text, timeAt + 3);
  const second = twoDigits(text, timeAt + 6);
  // Fails for anything but digits, because a comparison with NaN is false.
  if (!(hour < 24 && minute < 60 && second <= 60)) return Number.NaN;
  return date + hour * HOUR_MS + minute * MINUTE_MS + second * 1000;
}

export function stampLength(form: DateForm): number {
  return form.length + ' HH:MM:SS'.length;
}

function readDate(text: string, at: number, form: DateForm): number {
  const separator = form === 'YYYY-MM-DD' ? 1 : 0;
  const yearLength = form === 'YYMMDD' ? 2 : 4;
  const monthAt = at + yearLength + separator;
  const dayAt = monthAt + 2 + separator;
  if (separator === 1 && (text[monthAt - 1] !== '-' || text[dayAt - 1] !== '-')) return Number.NaN;
  const century = yearLength === 2 ? 20 : twoDigits(text, at);
  const year = century * 100 + twoDigits(text, monthAt - separator - 2);
  const month = twoDigits(text, monthAt);
  const day = twoDigits(text, dayAt);
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= 31)) return Number.NaN;
  return Date.UTC(year, month - 1, day);
}

function twoDigits(text: string, at: number): number {
  return digit(text, at) * 10 + digit(text, at + 1);
}

function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - ZERO;
  return value >= 0 && value <= 9 ? value : Number.NaN;
}

/** Almost simultaneous lines may be in the wrong order: up to this much earlier, no clock was set back. */
const DISORDER_MS = 1000;

/** Shared by all files, because computing offsets is slow. */
const zones = new Map<string, ZoneOffsets>();

/** Converts the local times of one file into instants, in the order of its lines. */
export class LocalTime {
  /** The last result; NaN if there is none. */
  lastMs: number = Number.NaN;
  /** Null for UTC. */
  readonly #zone: ZoneOffsets | null;

  /** Throws a RangeError for a zone that Intl does not know. */
  constructor(zone: string) {
    this.#zone = isUtc(zone) ? null : (zones.get(zone) ?? new ZoneOffsets(zone));
    if (this.#zone !== null) zones.set(zone, this.#zone);
  }

  /**
   * The instant of a local time, which is in milliseconds since the epoch as if its zone were UTC. A time that occurs
   * twice, when clocks are set back, is the first of the two, unless the previous time in the file is later than the
   * first and not much later than the second. A time that never occurs, when clocks are set forward, is converted with
   * the offset from before. NaN stays NaN.
   */
  toEpochMs(localMs: number): number {
    if (Number.isNaN(localMs)) return localMs;
    if (this.#zone === null) {
      this.lastMs = localMs;
      return localMs;
    }
    const { first, second } = this.#zone.at(localMs);
    // Without a previous time the comparisons are false.
    const isSecond =
      first !== second &&
      localMs - first < this.lastMs - DISORDER_MS &&
      localMs - second > this.lastMs - HOUR_MS / 2;
    this.lastMs = localMs - (isSecond ? second : first);
    return this.lastMs;
  }

  /**
   * The instant of a time as it is written. A time without a date or year is the one nearest to the last result; NaN if
   * there is none.
   */
  resolve(time: WrittenTime): number {
    const { zoneMs } = time;
    if (time.lacks !== 'nothing') {
      if (Number.isNaN(this.lastMs)) return Number.NaN;
      const aheadMs = zoneMs ?? this.#zone?.offsetAt(this.lastMs) ?? 0;
      const wallMs = nearest(time, this.lastMs + aheadMs);
      return this.resolve({ ...time, wallMs, lacks: 'nothing' });
    }
    if (zoneMs === null) return this.toEpochMs(time.wallMs);
    this.lastMs = time.wallMs - zoneMs;
    return this.lastMs;
  }
}

/** How far a local time is ahead of UTC; two values if it occurs twice. */
interface Offsets {
  readonly first: number;
  readonly second: number;
}

class ZoneOffsets {
  readonly #format: Intl.DateTimeFormat;
  /** By hours of local time since the epoch; null if they change within the hour. */
  readonly #hours = new Map<number, Offsets | null>();

  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  }

  at(localMs: number): Offsets {
    const hour = Math.floor(localMs / HOUR_MS);
    let offsets = this.#hours.get(hour);
    if (offsets === undefined) {
      offsets = this.#ofHour(hour * HOUR_MS);
      if (this.#hours.size >= HOURS_KEPT) this.#hours.clear();
      this.#hours.set(hour, offsets);
    }
    return offsets ?? this.#resolve(localMs);
  }

  #ofHour(startMs: number): Offsets | null {
    const start = this.#resolve(startMs);
    const end = this.#resolve(startMs + HOUR_MS - 1);
    return start.first === end.first && start.second === end.second ? start : null;
  }

  /** No zone changes its offset twice within two days. */
  #resolve(localMs: number): Offsets {
    const before = this.offsetAt(localMs - DAY_MS);
    const after = this.offsetAt(localMs + DAY_MS);
    const isFirst = before === after || this.offsetAt(localMs - before) === before;
    const isSecond = before !== after && this.offsetAt(localMs - after) === after;
    const first = isSecond && !isFirst ? after : before;
    return { first, second: isSecond ? after : first };
  }

  /** How far the zone is ahead of UTC at an instant. */
  offsetAt(epochMs: number): number {
    const shown = this.#format.format(epochMs);
    const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(shown);
    const [, sign, hours, minutes, seconds] = match ?? [];
    if (sign === undefined) return 0;
    const sizeMs =
      Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds ?? 0) * 1000;
    return sign === '-' ? -sizeMs : sizeMs;
  }
}

const SHAPE = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d\d:?\d\d)$/;

/** Whole milliseconds since the epoch, and the remaining nanoseconds, 0 to 999,999. */
export interface Instant {
  readonly timeMs: number;
  readonly timeExtraNs: number;
}

/** The time of a wrapper exactly, with up to nine digits of a second; null if it is not a time. */
export function readInstant(text: string): Instant | null {
  const [, date = '', time = '', digits = '', zone = ''] = SHAPE.exec(text) ?? [];
  const utcMs = Date.parse(`${date}T${time}Z`);
  // Date turns 30 February into a day of March.
  if (Number.isNaN(utcMs) || !new Date(utcMs).toISOString().startsWith(date)) return null;
  const { ms, extraNs } = fractionOf(digits);
  const isUtc = zone === 'Z' || zone === 'z';
  return { timeMs: utcMs - (isUtc ? 0 : zoneMs(zone)) + ms, timeExtraNs: extraNs };
}

function zoneMs(zone: string): number {
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return (zone.startsWith('-') ? -minutes : minutes) * MINUTE_MS;
}
