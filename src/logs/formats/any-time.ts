// Reads a time in any common form at the beginning of a text: the forms of strftime, of RFC 3339 and RFC 2822, of syslog
// and of tools. In: text and an index. Out: the time as it is written, and where it ends; null if there is none. What
// the text does not say (the zone, the year, the date) is left open: LocalTime.resolve completes it.

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';

export interface WrittenTime {
  /** In milliseconds since the epoch as if its zone were UTC; without a date, since midnight. */
  readonly wallMs: number;
  /** The rest of its fraction in nanoseconds, 0 to 999,999. */
  readonly extraNs: number;
  /** How far its zone is ahead of UTC; null for the zone of the log. */
  readonly zoneMs: number | null;
  readonly lacks: 'nothing' | 'year' | 'date';
  /** The index after it. */
  readonly end: number;
}

type Named = Readonly<Record<string, string | undefined>>;

const CLOCK = String.raw`(?<H>[ \d]?\d):(?<M>\d\d)(?::(?<S>\d\d)(?:[.,](?<F>\d{1,9})\d*)?)?(?: ?(?<half>[AaPp])[Mm]\b)?`;
const DENSE_CLOCK = String.raw`(?<H>\d\d)(?<M>\d\d)(?<S>\d\d)(?:[.,](?<F>\d{1,9})\d*)?`;
const ZONE = String.raw`(?: ?(?<zone>Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d)(?![\d:A-Za-z]))?`;
const WEEKDAY = String.raw`(?:[A-Z][a-z]{2,8},? +)?`;
const MONTH = String.raw`(?<month>[A-Z][a-z]{2,8})`;
const DAY = String.raw`(?<d>[ \d]?\d)`;

const FORMS: readonly RegExp[] = [
  String.raw`(?<Y>\d{4})(?<sep>[-/.]?)(?<m>\d\d)\k<sep>(?<d>\d\d)(?:[T_ :]| at )${CLOCK}${ZONE}`,
  String.raw`(?<Y>\d{4})(?<sep>[-/.]?)(?<m>\d\d)\k<sep>(?<d>\d\d)[T_ ]?${DENSE_CLOCK}${ZONE}`,
  String.raw`(?<y>\d\d)(?<m>\d\d)(?<d>\d\d) ${CLOCK}${ZONE}`,
  // A date with points begins with the day; one with other separators with the day or the month.
  String.raw`(?<d>\d\d)\.(?<m>\d\d)\.(?:(?<Y>\d{4})|(?<y>\d\d)),? ${CLOCK}${ZONE}`,
  String.raw`(?<one>\d\d)(?<sep>[-/])(?<other>\d\d)\k<sep>(?<Y>\d{4}),? ${CLOCK}${ZONE}`,
  String.raw`${WEEKDAY}${DAY}[ /-]${MONTH}[ /-](?<Y>\d{4})[ :]${CLOCK}${ZONE}`,
  String.raw`${WEEKDAY}${MONTH} +${DAY},? +(?<Y>\d{4}),? ${CLOCK}${ZONE}`,
  String.raw`${WEEKDAY}${MONTH} +${DAY} ${CLOCK}(?: (?<zone>[A-Z]{1,5}))? (?<Y>\d{4})\b`,
  String.raw`${WEEKDAY}${MONTH} +${DAY} ${CLOCK}`,
  String.raw`${CLOCK}${ZONE}`,
].map(form => new RegExp(form, 'y'));
const EPOCH = /(\d{10})(?:(\d{3})(?:\d{3})?|[.,](\d{1,9}))?(?!\d)/y;
/** The name of a zone that only the server knows: its own. */
const ZONE_NAME = / [A-Z]{2,5}(?![\w:])/y;

/** A time at the beginning of a line; it has seconds. */
export function readTimeOfLine(text: string, at = 0): WrittenTime | null {
  return readForms(text, at, true);
}

/** A text that is a time and nothing else. */
export function readWholeTime(text: string): WrittenTime | null {
  const time = readForms(text, 0, false) ?? readEpoch(text);
  if (time === null || time.end === text.length) return time;
  ZONE_NAME.lastIndex = time.end;
  return ZONE_NAME.test(text) && ZONE_NAME.lastIndex === text.length ? time : null;
}

function readForms(text: string, at: number, needsSeconds: boolean): WrittenTime | null {
  for (const form of FORMS) {
    form.lastIndex = at;
    const named: Named | undefined = form.exec(text)?.groups;
    if (named === undefined || (needsSeconds && named['S'] === undefined)) continue;
    const time = timeOf(named, form.lastIndex);
    if (time !== null) return time;
  }
  return null;
}

function readEpoch(text: string): WrittenTime | null {
  EPOCH.lastIndex = 0;
  const [, seconds, millis, fraction] = EPOCH.exec(text) ?? [];
  if (seconds === undefined) return null;
  const { ms, extraNs } = fractionOf(millis ?? fraction);
  const wallMs = Number(seconds) * 1000 + ms;
  return { wallMs, extraNs, zoneMs: 0, lacks: 'nothing', end: EPOCH.lastIndex };
}

function timeOf(named: Named, end: number): WrittenTime | null {
  const hour = hourOf(named);
  const minute = Number(named['M']);
  const second = Number(named['S'] ?? 0);
  if (!(hour < 24 && minute < 60 && second <= 60)) return null;
  const date = dateOf(named);
  if (date === null) return null;
  const { ms, extraNs } = fractionOf(named['F']);
  const wallMs = date.ms + hour * HOUR_MS + minute * MINUTE_MS + second * 1000 + ms;
  return { wallMs, extraNs, zoneMs: zoneOf(named['zone']), lacks: date.lacks, end };
}

/** NaN if it is none. */
function hourOf({ H, half }: Named): number {
  const hour = Number(H);
  if (half === undefined) return hour;
  if (hour < 1 || hour > 12) return Number.NaN;
  return (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
}

function dateOf(named: Named): { ms: number; lacks: WrittenTime['lacks'] } | null {
  const { Y, y, month, one, other } = named;
  if (one !== undefined && other !== undefined) return ofDayAndMonth(Number(one), Number(other), Y);
  const day = Number(named['d'] ?? Number.NaN);
  const number = month === undefined ? Number(named['m'] ?? Number.NaN) : monthOf(month);
  if (Number.isNaN(day) && Number.isNaN(number)) return { ms: 0, lacks: 'date' };
  const year = Y ?? (y === undefined ? undefined : `20${y}`);
  // A leap year, for 29 February.
  const ms = dayMs(Number(year ?? 2000), number, day);
  return Number.isNaN(ms) ? null : { ms, lacks: year === undefined ? 'year' : 'nothing' };
}

/** Day and month in an unknown order: known if only one of them can be a month. */
function ofDayAndMonth(one: number, other: number, year = ''): ReturnType<typeof dateOf> {
  if (one <= 12 && other <= 12 && one !== other) return null;
  const [month, day] = one > 12 ? [other, one] : [one, other];
  const ms = dayMs(Number(year), month, day);
  return Number.isNaN(ms) ? null : { ms, lacks: 'nothing' };
}

/** NaN for a day that does not exist. */
function dayMs(year: number, month: number, day: number): number {
  const ms = Date.UTC(year, month - 1, day);
  const date = new Date(ms);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? ms : Number.NaN;
}

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');

/** The number of an English month, whole or short; NaN for another word. */
function monthOf(name: string): number {
  const index = MONTHS.indexOf(name.slice(0, 3).toLowerCase());
  return index < 0 ? Number.NaN : index + 1;
}

function zoneOf(zone: string | undefined): number | null {
  if (zone === undefined) return null;
  if (zone === 'Z' || zone === 'UTC' || zone === 'GMT') return 0;
  if (!/^[+-]/.test(zone)) return null;
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  const ms = Number(digits.slice(0, 2)) * HOUR_MS + Number(digits.slice(2)) * MINUTE_MS;
  return zone.startsWith('-') ? -ms : ms;
}

/** The epoch time nearest to `nearMs` of a time without its year or date. */
export function nearest(time: WrittenTime, nearMs: number): number {
  const near = new Date(nearMs);
  const candidates = [-1, 0, 1].map(step => {
    if (time.lacks === 'date') return Math.floor(nearMs / DAY_MS + step) * DAY_MS + time.wallMs;
    return new Date(time.wallMs).setUTCFullYear(near.getUTCFullYear() + step);
  });
  return candidates.reduce((best, ms) =>
    Math.abs(ms - nearMs) < Math.abs(best - nearMs) ? ms : best,
  );
}

/** Up to nine digits of a second, as whole milliseconds and the remaining nanoseconds. */
export function fractionOf(digits = ''): { readonly ms: number; readonly extraNs: number } {
  const ns = Number(digits.padEnd(9, '0'));
  return { ms: Math.floor(ns / 1_000_000), extraNs: ns % 1_000_000 };
}
