// Durations, sizes and times as people write them: `10s`, `512MiB`, `2026-03-01T00:00:00Z`. A number without a unit and a
// time without a zone are refused, because nobody agrees on what they mean; the refusal suggests the unit where it can be
// guessed.

export interface Quantity {
  readonly units: ReadonlyMap<string, number>;
  /** For editors; matches the form that parseQuantity() reads. */
  readonly pattern: string;
  /** The unit that a number without one most likely has. */
  readonly usual: string;
  /** The unit that was probably meant by a word in lower case. */
  readonly unitOf: (word: string) => string | undefined;
}

const DURATION_UNITS: Quantity['units'] = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

const SIZE_UNITS: Quantity['units'] = new Map([
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

/** In milliseconds. */
export const DURATION: Quantity = {
  units: DURATION_UNITS,
  pattern: '^\\d+(\\.\\d+)?(ms|s|m|h|d)$',
  usual: 's',
  unitOf: word => {
    if (DURATION_UNITS.has(word)) return word;
    const stem = word.replace(/(?<=..)s$/, '');
    const long = DURATION_WORDS.findIndex(name => name.startsWith(stem));
    return [...DURATION_UNITS.keys()][long];
  },
};

/** In bytes. `k` is 1000, `Ki` is 1024. */
export const SIZE: Quantity = {
  units: SIZE_UNITS,
  pattern: '^\\d+(\\.\\d+)?(B|[kMGT]B|[KMGT]iB)$',
  usual: 'B',
  unitOf: word => {
    const names = [...SIZE_UNITS.keys()];
    return (
      names.find(name => name.toLowerCase() === word) ??
      names.find(name => name.toLowerCase().startsWith(word))
    );
  },
};

/** The amount in the smallest unit, rounded to a whole number; undefined if the text is not such a quantity. */
export function parseQuantity(text: string, { units }: Quantity): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([A-Za-z]+)$/.exec(text);
  const factor = units.get(match?.[2] ?? '');
  if (match === null || factor === undefined) return undefined;
  const amount = Math.round(Number(match[1]) * factor);
  return Number.isSafeInteger(amount) ? amount : undefined;
}

export function parseDuration(text: string): number | undefined {
  return parseQuantity(text, DURATION);
}

/** The amount in its largest whole unit: 90000 is `90s`, 1048576 is `1MiB`. */
export function formatQuantity(amount: number, { units }: Quantity): string {
  const whole = [...units].filter(([, factor]) => amount % factor === 0);
  const [unit, factor] = whole.sort((a, b) => b[1] - a[1])[0] ?? ['', 1];
  return amount === 0 ? `0${[...units.keys()][0] ?? ''}` : `${String(amount / factor)}${unit}`;
}

export function formatDuration(ms: number): string {
  return formatQuantity(ms, DURATION);
}

/** The quantity that was probably meant: `10 sec` gives `10s`, `512Mi` and `512 mib` give `512MiB`. */
export function suggestQuantity(text: string, { unitOf }: Quantity): string | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,15})?)\s*([A-Za-z]{1,12})$/.exec(text.trim());
  const unit = unitOf((match?.[2] ?? '?').toLowerCase());
  return match === null || unit === undefined ? undefined : `${match[1] ?? ''}${unit}`;
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** The time of an RFC 3339 text, or undefined. The day must exist: 30 February is no date. */
export function parseTime(text: string): Date | undefined {
  const [, year, month, day] = (RFC_3339.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return undefined;
  const monthDays = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const time = new Date(text.toUpperCase().replace(' ', 'T'));
  return day <= monthDays && !Number.isNaN(time.getTime()) ? time : undefined;
}
