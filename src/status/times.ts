// Times in the status report. The parts of the program keep times as milliseconds since the epoch,
// or null (`oldestAtMs`); the report has them as RFC 3339 in UTC (`oldestAt`). So a part declares
// the fields of its status once, and the report shows all of them.

type ShownKey<Key> = Key extends 'atMs'
  ? 'at'
  : Key extends `${infer Name}AtMs`
    ? `${Name}At`
    : Key extends `${infer Name}UntilMs`
      ? `${Name}Until`
      : Key;

/** The type of a part's status in the report. */
export type Shown<Status> = {
  readonly [Key in keyof Status as ShownKey<Key>]: ShownKey<Key> extends Key
    ? Status[Key]
    : string | Extract<Status[Key], null>;
};

const TIME_KEY = /^(at|\w+(?:At|Until))Ms$/;

export function shown<Status extends object>(status: Status): Shown<Status> {
  const fields = Object.entries(status as Record<string, unknown>).map(([key, value]) => {
    const name = TIME_KEY.exec(key)?.[1];
    return name === undefined ? [key, value] : [name, instantOrNull(value as number | null)];
  });
  return Object.fromEntries(fields) as Shown<Status>;
}

export function instant(timeMs: number): string {
  return new Date(Number.isFinite(timeMs) ? timeMs : 0).toISOString();
}

/** Null for an unknown time, or one that is no time, as from a damaged file. */
export function instantOrNull(timeMs: number | null | undefined): string | null {
  const date = new Date(timeMs ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
