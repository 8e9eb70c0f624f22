// The Retry-After header of an answer, in both forms of RFC 9110, section 10.2.3: seconds, or an HTTP-date in any of the
// three formats that a recipient must accept.

/** The longest wait that a server can ask for. A longer one is taken for a mistake: it could stop everything for days. */
export const RETRY_AFTER_MS_MAX = 900_000;

// The three formats of RFC 9110, section 5.6.7: IMF-fixdate, RFC 850 and asctime. The name of the day is not checked
// against the date.
const IMF_FIXDATE =
  /^\w{3}, (?<day>\d{2}) (?<month>\w{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/;
const RFC_850 =
  /^\w{6,9}, (?<day>\d{2})-(?<month>\w{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/;
const ASCTIME = /^\w{3} (?<month>\w{3}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/;

/** A date with a two-digit year that is further ahead is taken for the last century. */
const FIFTY_YEARS = 50;

/**
 * The milliseconds from `nowMs` (wall clock) that the server asks to wait: 0 for a past date, null if the header is
 * absent or invalid. Never NaN, negative or infinite, but not limited to RETRY_AFTER_MS_MAX.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  const dateMs = parseHttpDate(text, nowMs);
  return dateMs === null ? null : Math.max(0, dateMs - nowMs);
}

function parseHttpDate(text: string, nowMs: number): number | null {
  const match = IMF_FIXDATE.exec(text) ?? RFC_850.exec(text) ?? ASCTIME.exec(text);
  const { day = '', month = '', year = '', time = '' } = match?.groups ?? {};
  const fullYear = year.length === 2 ? String(yearNear(Number(year), nowMs)) : year;
  const date = `${day.replace(' ', '0')} ${month} ${fullYear} ${time.replace(/:60$/, ':59')} GMT`;
  const dateMs = Date.parse(date);
  // Date.parse carries a value out of range into the next field: 31 February must not become 3 March.
  if (Number.isNaN(dateMs) || !new Date(dateMs).toUTCString().endsWith(date)) return null;
  return time.endsWith(':60') ? dateMs + 1000 : dateMs;
}

/** The year with these last two digits that is at most fifty years ahead, as the RFC requires. */
function yearNear(lastTwoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + lastTwoDigits;
  return year > thisYear + FIFTY_YEARS ? year - 100 : year;
}
