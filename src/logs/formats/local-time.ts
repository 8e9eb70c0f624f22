// Reads the stamps of log lines, which are local times without a zone, and turns them into instants. In: text
// and an offset; the zone's IANA name. Out: milliseconds, NaN for what is no stamp. Offsets come from Intl,
// which is slow, and are kept per hour of local time, so that a day of lines asks for a few dozen of them.

import { isUtc } from '../../lib/time-zone.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOURS_KEPT = 1024;
const BLANK = 0x20;
const ZERO = 0x30;
const COLON = 0x3a;

/** How the date of a stamp is written; ` HH:MM:SS` follows, of which the hour may be padded with a blank. */
export type DateForm = 'YYYY-MM-DD' | 'YYYYMMDD' | 'YYMMDD';

/** The stamp at `at`, as milliseconds since the epoch if its zone were UTC; NaN when none stands there. */
export function readStamp(text: string, at: number, form: DateForm): number {
  const timeAt = at + form.length + 1;
  if (text.charCodeAt(timeAt - 1) !== BLANK) return Number.NaN;
  if (text.charCodeAt(timeAt + 2) !== COLON || text.charCodeAt(timeAt + 5) !== COLON) {
    return Number.NaN;
  }
  const date = readDate(text, at, form);
  const padded = text.charCodeAt(timeAt) === BLANK;
  const hour = padded ? digit(text, timeAt + 1) : twoDigits(text, timeAt);
  const minute = twoDigits(text, timeAt + 3);
  const second = twoDigits(text, timeAt + 6);
  // A comparison with NaN is false, so that anything but digits fails here.
  if (!(hour < 24 && minute < 60 && second <= 60)) return Number.NaN;
  return date + hour * HOUR_MS + minute * 60_000 + second * 1000;
}

/** The length of a stamp of that form. */
export function stampLength(form: DateForm): number {
  return form.length + ' HH:MM:SS'.length;
}

function readDate(text: string, at: number, form: DateForm): number {
  const separator = form === 'YYYY-MM-DD' ? 1 : 0;
  const yearLength = form === 'YYMMDD' ? 2 : 4;
  const monthAt = at + yearLength + separator;
  const dayAt = monthAt + 2 + separator;
  if (separator === 1 && (text.charAt(monthAt - 1) !== '-' || text.charAt(dayAt - 1) !== '-')) {
    return Number.NaN;
  }
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

/** Turns local times into instants. */
export interface LocalTime {
  /**
   * The instant of a local time, both in milliseconds since the epoch, the latter as if its zone were UTC.
   * A time that comes twice, when clocks are set back, is the first of the two; one that never comes, when
   * they are set forward, is read with the offset from before. NaN stays NaN.
   */
  toEpochMs(localMs: number): number;
}

/** For a zone that Intl knows; throws a RangeError for any other. */
export function createLocalTime(zone: string): LocalTime {
  if (isUtc(zone)) return { toEpochMs: localMs => localMs };
  return new ZoneTime(zone);
}

class ZoneTime implements LocalTime {
  readonly #format: Intl.DateTimeFormat;
  /** Offset from UTC by hours of local time since the epoch; NaN where it changes within the hour. */
  readonly #offsets = new Map<number, number>();

  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  }

  toEpochMs(localMs: number): number {
    if (Number.isNaN(localMs)) return Number.NaN;
    const hour = Math.floor(localMs / HOUR_MS);
    let offset = this.#offsets.get(hour);
    if (offset === undefined) {
      offset = this.#offsetOfHour(hour * HOUR_MS);
      if (this.#offsets.size >= HOURS_KEPT) this.#offsets.clear();
      this.#offsets.set(hour, offset);
    }
    return Number.isNaN(offset) ? this.#resolve(localMs) : localMs - offset;
  }

  #offsetOfHour(startMs: number): number {
    const endMs = startMs + HOUR_MS - 1;
    const offset = startMs - this.#resolve(startMs);
    return endMs - this.#resolve(endMs) === offset ? offset : Number.NaN;
  }

  /** No zone changes its offset twice within two days. */
  #resolve(localMs: number): number {
    const before = this.#offsetAt(localMs - DAY_MS);
    const after = this.#offsetAt(localMs + DAY_MS);
    const first = localMs - before;
    if (before === after || this.#offsetAt(first) === before) return first;
    const second = localMs - after;
    return this.#offsetAt(second) === after ? second : first;
  }

  #offsetAt(epochMs: number): number {
    const shown = this.#format.format(epochMs);
    const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(shown);
    const [, sign, hours, minutes, seconds] = match ?? [];
    if (sign === undefined) return 0;
    const sizeMs = Number(hours) * HOUR_MS + Number(minutes) * 60_000 + Number(seconds ?? 0) * 1000;
    return sign === '-' ? -sizeMs : sizeMs;
  }
}
