// Durations and sizes as people write them: `10s`, `512MiB`. A number without a unit is refused, because
// nobody agrees on what it means; the refusal suggests the unit where it can be guessed.

const DURATION_UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

const SIZE_UNITS: ReadonlyMap<string, number> = new Map([
  ['B', 1],
  ['kB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['TB', 1e12],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
  ['TiB', 2 ** 40],
]);

const DURATION_WORDS = ['milliseconds', 'seconds', 'minutes', 'hours', 'days'];

/** Regular expressions for editors; the same language as the parsers below. */
export const DURATION_PATTERN = '^\\d+(\\.\\d+)?(ms|s|m|h|d)$';
export const SIZE_PATTERN = '^\\d+(\\.\\d+)?(B|[kMGT]B|[KMGT]iB)$';

/** Milliseconds, rounded to a whole one; undefined when the text is no duration. */
export function parseDuration(text: string): number | undefined {
  return parseQuantity(text, DURATION_UNITS);
}

/** Bytes, rounded to a whole one; undefined when the text is no size. `k` is 1000, `Ki` is 1024. */
export function parseSize(text: string): number | undefined {
  return parseQuantity(text, SIZE_UNITS);
}

function parseQuantity(text: string, units: ReadonlyMap<string, number>): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([A-Za-z]+)$/.exec(text);
  const factor = units.get(match?.[2] ?? '');
  if (match === null || factor === undefined) return undefined;
  const amount = Math.round(Number(match[1]) * factor);
  return Number.isSafeInteger(amount) ? amount : undefined;
}

/** The duration in its largest whole unit: 90000 is `90s`. */
export function formatDuration(ms: number): string {
  return formatQuantity(ms, DURATION_UNITS);
}

/** The size in its largest whole unit: 1048576 is `1MiB`. */
export function formatSize(bytes: number): string {
  return formatQuantity(bytes, SIZE_UNITS);
}

function formatQuantity(amount: number, units: ReadonlyMap<string, number>): string {
  const whole = [...units].filter(([, factor]) => amount % factor === 0);
  const [unit, factor] = whole.sort((a, b) => b[1] - a[1])[0] ?? ['', 1];
  return amount === 0 ? `0${[...units.keys()][0] ?? ''}` : `${String(amount / factor)}${unit}`;
}

/** What was probably meant by a text that is no duration: `10 sec` gives `10s`. */
export function suggestDuration(text: string): string | undefined {
  return suggestQuantity(text, word => {
    if (DURATION_UNITS.has(word)) return word;
    const stem = word.replace(/(?<=..)s$/, '');
    const long = DURATION_WORDS.findIndex(name => name.startsWith(stem));
    return [...DURATION_UNITS.keys()][long];
  });
}

/** What was probably meant by a text that is no size: `512Mi` and `512 mib` give `512MiB`. */
export function suggestSize(text: string): string | undefined {
  const names = [...SIZE_UNITS.keys()];
  return suggestQuantity(
    text,
    word =>
      names.find(name => name.toLowerCase() === word) ??
      names.find(name => name.toLowerCase().startsWith(word)),
  );
}

function suggestQuantity(
  text: string,
  unitOf: (word: string) => string | undefined,
): string | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,15})?)\s*([A-Za-z]{1,12})$/.exec(text.trim());
  const unit = unitOf((match?.[2] ?? '?').toLowerCase());
  return match === null || unit === undefined ? undefined : `${match[1] ?? ''}${unit}`;
}
