// The bridge's own counters: plain numbers that stand beside the code that bumps them, and one list of
// them all, from which /metrics is rendered. A counter with labels holds one number per label tuple;
// their count is bounded, what comes after the bound is added to the tuple whose values are all `other`.
// What is not counted but known elsewhere (memory, ages) is looked up whenever somebody reads it.

export type CounterKind = 'counter' | 'gauge';

/** One metric of the bridge itself. `series` maps rendered label values to the number. */
export interface Counter {
  readonly name: string;
  readonly help: string;
  readonly kind: CounterKind;
  readonly labelNames: readonly string[];
  readonly series: ReadonlyMap<string, CounterSeries>;
  add(amount: number, ...labelValues: string[]): void;
  set(value: number, ...labelValues: string[]): void;
  get(...labelValues: string[]): number;
  /**
   * From now on `look` is asked whenever somebody reads: for one number, or one per label tuple. It must be cheap
   * and never throw; what was counted before is gone.
   */
  follow(look: () => number | readonly CounterSeries[]): void;
}

export interface CounterSeries {
  readonly labelValues: readonly string[];
  value: number;
}

/** How many label tuples one counter may hold before the rest is counted as `other`. */
export const COUNTER_SERIES_MAX = 4096;

/** A set of counters that belong to one running bridge; a process may hold several in tests. */
export class Counters {
  readonly #list = new Map<string, Counter>();

  /** Registers a number that only grows; its name ends in `_total`. Registering twice gives the first. */
  counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    return this.#register('counter', name, help, labelNames);
  }

  /** Registers a number that may also fall. */
  gauge(name: string, help: string, labelNames: readonly string[] = []): Counter {
    return this.#register('gauge', name, help, labelNames);
  }

  list(): readonly Counter[] {
    return [...this.#list.values()];
  }

  #register(kind: CounterKind, name: string, help: string, labelNames: readonly string[]): Counter {
    const known = this.#list.get(name);
    if (known !== undefined) return known;
    const counter = createCounter(kind, name, help, labelNames);
    this.#list.set(name, counter);
    return counter;
  }
}

function createCounter(
  kind: CounterKind,
  name: string,
  help: string,
  labelNames: readonly string[],
): Counter {
  const series = new Map<string, CounterSeries>();
  let read = (): ReadonlyMap<string, CounterSeries> => series;
  const find = (labelValues: string[]): CounterSeries => {
    const key = keyOf(labelValues);
    let entry = series.get(key);
    if (entry !== undefined) return entry;
    if (series.size >= COUNTER_SERIES_MAX) {
      const other = labelNames.map(() => 'other');
      const rest = series.get(keyOf(other));
      if (rest !== undefined) return rest;
      labelValues = other;
    }
    entry = { labelValues, value: 0 };
    series.set(keyOf(labelValues), entry);
    return entry;
  };
  if (labelNames.length === 0) find([]);
  return {
    name,
    help,
    kind,
    labelNames,
    get series() {
      return read();
    },
    add: (amount, ...labelValues) => void (find(labelValues).value += amount),
    set: (value, ...labelValues) => void (find(labelValues).value = value),
    get: (...labelValues) => read().get(keyOf(labelValues))?.value ?? 0,
    follow: look => {
      read = () => {
        const found = look();
        const all = typeof found === 'number' ? [{ labelValues: [], value: found }] : found;
        // What comes after the bound is left out: of numbers that are looked up there is no sum.
        const some = all.slice(0, COUNTER_SERIES_MAX);
        return new Map(some.map(entry => [keyOf(entry.labelValues), entry]));
      };
    },
  };
}

function keyOf(labelValues: readonly string[]): string {
  return labelValues.join('\u0000');
}

/** All counters in the Prometheus text format 0.0.4. */
export function renderCounters(counters: Counters): string {
  const lines: string[] = [];
  for (const counter of counters.list()) {
    lines.push(`# HELP ${counter.name} ${escapeHelp(counter.help)}`);
    lines.push(`# TYPE ${counter.name} ${counter.kind}`);
    for (const { labelValues, value } of counter.series.values()) {
      const labels = counter.labelNames
        .map((label, i) => `${label}="${escapeLabel(labelValues[i] ?? '')}"`)
        .join(',');
      lines.push(`${counter.name}${labels === '' ? '' : `{${labels}}`} ${String(value)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
