// Formats numbers, sizes and times for people: on the status page and in tables of the command line. They are rounded;
// output for programs has plain numbers and RFC 3339. Only formatGoFloat is for programs, and exact.

import { DAY_MS, HOUR_MS, MINUTE_MS } from './clock.ts';

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

const SECOND_MS = 1000;

/** A whole number with thousands separators: `1,234,567`. */
export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/**
 * A finite float as Go prints it, but zero without its sign: the shortest text for this number, with an exponent below
 * 1e-4 and from 1e6.
 */
export function formatGoFloat(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  // JavaScript writes 1.5e+6, Go writes 1.5e+06.
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

/** A size in its most readable unit: `512 B`, `1.5 KiB`, `20.1 MiB`. */
export function formatBytes(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  // An amount that would be rounded to 1024 is 1.0 of the next unit.
  while (Math.round(amount) >= 1024 && unit < BYTE_UNITS.length - 1) {
    amount /= 1024;
    unit++;
  }
  const digits = unit === 0 || amount >= 100 ? 0 : 1;
  return `${amount.toFixed(digits)} ${BYTE_UNITS[unit] ?? ''}`;
}

/** A duration in its two largest units: `12 ms`, `1.2 s`, `2 min 5 s`, `3 d 4 h`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 0) return `-${formatDuration(-durationMs)}`;
  const ms = Math.round(durationMs);
  if (ms < SECOND_MS) return `${ms} ms`;
  if (ms < 10 * SECOND_MS - 50) return `${(ms / SECOND_MS).toFixed(1)} s`;
  if (ms < MINUTE_MS - SECOND_MS / 2) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS - SECOND_MS / 2) return inTwoUnits(ms, [MINUTE_MS, 'min'], [SECOND_MS, 's']);
  if (ms < DAY_MS - MINUTE_MS / 2) return inTwoUnits(ms, [HOUR_MS, 'h'], [MINUTE_MS, 'min']);
  return inTwoUnits(ms, [DAY_MS, 'd'], [HOUR_MS, 'h']);
}

/** An age in whole seconds or more, such as `5 s ago`; a future time is `in 5 s`. */
export function formatAge(ageMs: number): string {
  const ms = Math.abs(ageMs);
  if (ms < SECOND_MS / 2) return 'now';
  const text = ms < MINUTE_MS - SECOND_MS / 2 ? `${Math.round(ms / SECOND_MS)} s` : coarse(ms);
  return ageMs < 0 ? `in ${text}` : `${text} ago`;
}

type Unit = readonly [ms: number, name: string];

function inTwoUnits(ms: number, [largeMs, large]: Unit, [smallMs, small]: Unit): string {
  const smallCount = Math.round(ms / smallMs);
  const perLarge = largeMs / smallMs;
  const rest = smallCount % perLarge;
  const head = `${Math.floor(smallCount / perLarge)} ${large}`;
  return rest === 0 ? head : `${head} ${rest} ${small}`;
}

/** Minutes without seconds, from ten on. */
function coarse(ms: number): string {
  return formatDuration(ms < 10 * MINUTE_MS ? ms : Math.round(ms / MINUTE_MS) * MINUTE_MS);
}
