// The differences between what two configurations send for the same page, in groups that a person can read, and the
// shipped alerts and panels that lose series by them. For `check --against`.

import { type Attributes, keyOf, type Sent, type SentMetric } from './sent-series.ts';
import { SERIES_NEEDS } from './series-needs.ts';

/** In the order in which they are shown: the gravest first. */
export const CHANGES = [
  'gone',
  'renamed',
  'type',
  'temporality',
  'unit',
  'attributes',
  'resource',
  'added',
] as const;
export type ChangeKind = (typeof CHANGES)[number];

/** Series that change alike. */
export interface Group {
  readonly change: ChangeKind;
  /** Such as `gauge → counter`; '' if the change says all. */
  readonly detail: string;
  /** Names before the change; for added series, after it. None if all series of the services change. */
  readonly metrics: Set<string>;
  /** How many series of each service. */
  readonly services: Map<string, number>;
}

export function seriesOf({ services }: Pick<Group, 'services'>): number {
  return [...services.values()].reduce((sum, count) => sum + count, 0);
}

/** The groups by kind, the largest first. */
export function changesOf(before: Sent, after: Sent): readonly Group[] {
  const groups = new Groups();
  const matched = new Map<SentMetric, SentMetric[]>();
  for (const old of before.metrics.values()) {
    if (!after.resources.has(old.service)) {
      groups.add('gone', 'the whole service', old, old.series.size, old.service);
      continue;
    }
    const now = after.metrics.get(keyOf(old.service, old.name)) ?? renamed(old, before, after);
    if (now === undefined) {
      groups.add('gone', '', old, old.series.size, old.name);
      continue;
    }
    matched.set(now, [...(matched.get(now) ?? []), old]);
    addProperties(groups, old, now);
    if (now.name === old.name) addSeries(groups, old, now);
    else addRename(groups, old, now);
  }
  for (const now of after.metrics.values()) {
    const olds = matched.get(now);
    if (!before.resources.has(now.service))
      groups.add('added', 'the whole service', now, now.series.size, now.service);
    else if (olds === undefined) groups.add('added', '', now, now.series.size, now.name);
    else addMerged(groups, olds, now);
  }
  addResources(groups, before, after);
  return groups.sorted();
}

class Groups {
  readonly #groups = new Map<string, Group>();

  /** `apart`: the metrics of one kind and detail that share this text are one group. */
  add(
    change: ChangeKind,
    detail: string,
    { service, name }: Pick<SentMetric, 'service'> & { readonly name?: string },
    series: number,
    apart = '',
  ): void {
    if (series === 0) return;
    const key = JSON.stringify([change, detail, apart]);
    const group: Group = this.#groups.get(key) ?? {
      change,
      detail,
      metrics: new Set(),
      services: new Map(),
    };
    this.#groups.set(key, group);
    group.services.set(service, (group.services.get(service) ?? 0) + series);
    if (name !== undefined && detail !== 'the whole service') group.metrics.add(name);
  }

  sorted(): readonly Group[] {
    return [...this.#groups.values()].sort(
      (a, b) =>
        CHANGES.indexOf(a.change) - CHANGES.indexOf(b.change) ||
        seriesOf(b) - seriesOf(a) ||
        (firstOf(a) < firstOf(b) ? -1 : 1),
    );
  }
}

function firstOf({ metrics, services }: Group): string {
  const [name] = metrics;
  const [service] = services.keys();
  return name ?? service ?? '';
}

/** The metric that goes out for the same lines of the page. */
function renamed(old: SentMetric, before: Sent, after: Sent): SentMetric | undefined {
  for (const page of before.pageNames.get(keyOf(old.service, old.name)) ?? [])
    for (const name of after.sentNames.get(keyOf(old.service, page)) ?? []) {
      const now = after.metrics.get(keyOf(old.service, name));
      if (now !== undefined) return now;
    }
  return undefined;
}

function addProperties(groups: Groups, old: SentMetric, now: SentMetric): void {
  for (const property of ['type', 'temporality', 'unit'] as const)
    if (old[property] !== now[property] && !(property === 'temporality' && old.type !== now.type))
      groups.add(property, from(old[property], now[property]), old, now.series.size);
}

function from(a: string | undefined, b: string | undefined): string {
  return `${a === undefined || a === '' ? 'none' : a} → ${b === undefined || b === '' ? 'none' : b}`;
}

function addRename(groups: Groups, old: SentMetric, now: SentMetric): void {
  const prefix = now.name.endsWith(old.name) ? now.name.slice(0, -old.name.length) : '';
  if (prefix === `${old.service}.`)
    groups.add('renamed', '<name> → <service id>.<name>', old, old.series.size);
  else groups.add('renamed', `→ ${now.name}`, old, old.series.size, old.name);
  const words = keyWords([...old.series.values()], [...now.series.values()]);
  groups.add('attributes', words, old, words === '' ? 0 : old.series.size);
}

/** Series of the same name: pairs that differ in their attributes, and those that are left alone. */
function addSeries(groups: Groups, old: SentMetric, now: SentMetric): void {
  const gone = [...old.series].filter(([key]) => !now.series.has(key)).map(([, one]) => one);
  const added = [...now.series].filter(([key]) => !old.series.has(key)).map(([, one]) => one);
  const words = keyWords(gone, added);
  const pairs = words === '' ? 0 : Math.min(gone.length, added.length);
  groups.add('attributes', words, old, pairs);
  const alike = pairs === 0 ? '' : 'no attribute sets them apart';
  groups.add('gone', alike, old, gone.length - pairs, old.name);
  groups.add('added', '', now, added.length - pairs, now.name);
}

/** Renamed metrics that become one: series that no longer differ are sent once. */
function addMerged(groups: Groups, olds: readonly SentMetric[], now: SentMetric): void {
  if (olds.every(({ name }) => name === now.name)) return;
  const count = olds.reduce((sum, { series }) => sum + series.size, 0);
  const lost = Math.max(count - now.series.size, 0);
  groups.add('gone', 'no attribute sets them apart', now, lost, now.name);
}

/** The attributes that go, come, or have other values; '' if none does. */
function keyWords(gone: readonly Attributes[], added: readonly Attributes[]): string {
  if (gone.length === 0 || added.length === 0) return '';
  const [before, after] = [valuesOf(gone), valuesOf(added)];
  const words: string[] = [];
  for (const [key, values] of before) {
    const now = after.get(key);
    if (now === undefined) words.push(`without ${key}`);
    else if ([...values].every(value => !now.has(value))) words.push(`other values of ${key}`);
  }
  for (const key of after.keys()) if (!before.has(key)) words.push(`with ${key}`);
  return words.join(', ');
}

function valuesOf(list: readonly Attributes[]): ReadonlyMap<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const one of list)
    for (const [key, value] of Object.entries(one))
      found.set(key, (found.get(key) ?? new Set()).add(value));
  return found;
}

function addResources(groups: Groups, before: Sent, after: Sent): void {
  const counts = new Map<string, number>();
  for (const { service, series } of after.metrics.values())
    counts.set(service, (counts.get(service) ?? 0) + series.size);
  for (const [service, old] of before.resources) {
    const now = after.resources.get(service);
    if (now === undefined) continue;
    for (const key of new Set([...Object.keys(old), ...Object.keys(now)]))
      if (old[key] !== now[key])
        groups.add(
          'resource',
          `${key}: ${from(old[key], now[key])}`,
          { service },
          counts.get(service) ?? 0,
        );
  }
}

// Alerts and panels.

/** The keys of a configuration that decide which series of prom2otlp's own it sends. */
export interface OwnSeries {
  readonly telemetry: { readonly isEnabled: boolean };
  readonly backups: { readonly isEnabled: boolean };
  readonly logs: {
    readonly isEnabled: boolean;
    readonly slowQuery: { readonly digests: { readonly isEnabled: boolean } };
  };
}

/** An alert or a panel of a dashboard that loses series. */
export interface Loss {
  readonly kind: string;
  readonly title: string;
  readonly series: readonly string[];
  /** The services whose series it loses; services that go as a whole, and prom2otlp's own series, count for none. */
  readonly services: readonly string[];
}

/** The shipped alerts and panels that ask for series which `after` no longer sends under their names. */
export function lossesOf(
  before: { readonly sent: Sent; readonly config: OwnSeries },
  after: { readonly sent: Sent; readonly config: OwnSeries },
): readonly Loss[] {
  const gone = new Map<string, Set<string>>();
  for (const [key, { name, service }] of before.sent.metrics)
    if (after.sent.resources.has(service) && !after.sent.metrics.has(key))
      gone.set(name, (gone.get(name) ?? new Set()).add(service));
  return SERIES_NEEDS.trim()
    .split('\n')
    .flatMap(line => {
      const [kind = '', title = '', names = ''] = line.split('\t');
      const series = names
        .split(' ')
        .filter(
          name => gone.has(name) || (isOwn(name, before.config) && !isOwn(name, after.config)),
        );
      const services = [...new Set(series.flatMap(name => [...(gone.get(name) ?? [])]))].sort();
      return series.length === 0 ? [] : [{ kind, title, series, services }];
    });
}

/** True for a series of prom2otlp itself that this configuration sends. */
function isOwn(name: string, { telemetry, backups, logs }: OwnSeries): boolean {
  if (name.startsWith('prom2otlp_slow_query_'))
    return logs.isEnabled && logs.slowQuery.digests.isEnabled;
  if (name.startsWith('prom2otlp_backup_')) return backups.isEnabled;
  return name.startsWith('prom2otlp_') && telemetry.isEnabled;
}
