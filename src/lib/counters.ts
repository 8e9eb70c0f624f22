// The program's own metrics. A file declares its counters next to the code that increments them, as a constant group:
// `const SEND_COUNTERS = {requests: {name, help, labels}} as const`. `Counters` holds the values of one running daemon:
// `counters.of(SEND_COUNTERS).requests.add(1, 'metrics', 'accepted')`. /metrics and the program's own telemetry show
// every group in use; tools/own-counters.ts lists all groups for the documentation and the tests.
//
// A counter with labels has one value per combination of label values. The number of combinations is bounded; further
// ones are counted together as `other`.

/** One metric. A name that ends in `_total` only grows; any other may also fall. */
interface CounterDeclaration {
  /** The public name; it ends in the unit (`_seconds`, `_bytes`), before `_total`. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** The counters of one part of the program; the keys are only used in code. */
export type CounterGroup = Readonly<Record<string, CounterDeclaration>>;

export type CountersOf<Group extends CounterGroup> = {
  readonly [Key in keyof Group]: Counter<LabelsOf<Group[Key]>>;
};

type LabelsOf<Declaration> = Declaration extends { readonly labels: infer Labels }
  ? Extract<Labels, readonly string[]>
  : readonly [];

/** A value for each label, in the order of the declaration. */
type LabelValues<Labels extends readonly string[]> = { readonly [Place in keyof Labels]: string };

export interface Counter<Labels extends readonly string[] = readonly string[]> {
  readonly name: string;
  readonly help: string;
  readonly kind: 'counter' | 'gauge';
  readonly labelNames: readonly string[];
  /** All values, in the order of their first count. */
  readonly series: readonly CounterSeries[];
  add(amount: number, ...labelValues: LabelValues<Labels>): void;
  set(value: number, ...labelValues: LabelValues<Labels>): void;
  get(...labelValues: LabelValues<Labels>): number;
  /**
   * From now on the values are looked up at each read: one value, or one per combination of label values. `look` must be
   * cheap and must not throw.
   */
  follow(look: () => number | readonly CounterSeries[]): void;
}

export interface CounterSeries {
  readonly labelValues: readonly string[];
  value: number;
}

/** The most combinations of label values per counter; further ones are counted as `other`. */
export const COUNTER_SERIES_MAX = 4096;

/** The values of one running daemon; a reload keeps them. */
export class Counters {
  readonly #list = new Map<string, Counter>();

  /** The counters of a group. All callers get the same ones. */
  of<Group extends CounterGroup>(group: Group): CountersOf<Group> {
    const counters = Object.entries(group).map(([key, declaration]) => {
      const counter = this.#list.get(declaration.name) ?? createCounter(declaration);
      this.#list.set(declaration.name, counter);
      return [key, counter];
    });
    return Object.fromEntries(counters) as CountersOf<Group>;
  }

  list(): readonly Counter[] {
    return [...this.#list.values()];
  }
}

function createCounter({ name, help, labels = [] }: CounterDeclaration): Counter {
  const series = new Map<string, CounterSeries>();
  let read = (): readonly CounterSeries[] => [...series.values()];
  const find = (labelValues: readonly string[]): CounterSeries => {
    const known = series.get(keyOf(labelValues));
    if (known !== undefined) return known;
    const isFull = series.size >= COUNTER_SERIES_MAX;
    const values = isFull ? labels.map(() => 'other') : labelValues;
    const entry = series.get(keyOf(values)) ?? { labelValues: values, value: 0 };
    series.set(keyOf(values), entry);
    return entry;
  };
  if (labels.length === 0) find([]);
  return {
    name,
    help,
    kind: name.endsWith('_total') ? 'counter' : 'gauge',
    labelNames: labels,
    get series() {
      return read();
    },
    add: (amount, ...labelValues) => void (find(labelValues).value += amount),
    set: (value, ...labelValues) => void (find(labelValues).value = value),
    get: (...labelValues) => {
      const key = keyOf(labelValues);
      return read().find(entry => keyOf(entry.labelValues) === key)?.value ?? 0;
    },
    follow: look => {
      read = () => {
        const found = look();
        // Looked-up values cannot be summed: those beyond the bound are left out.
        return typeof found === 'number'
          ? [{ labelValues: [], value: found }]
          : found.slice(0, COUNTER_SERIES_MAX);
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
    for (const { labelValues, value } of counter.series) {
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

/** The value of a label as the text format has it between quotes. */
function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
