// Series that differ only in labels which do not reach the back end (otlp-mapping I1, drop_labels): there they would
// be one series, written twice with one time, and a back end refuses the whole request for it. One of them owns the
// identity and is sent; its twins are dropped as duplicates. When the owner leaves the page, a twin goes on with its
// series. In: heads of points as they get their place. Out: table.twins. Costs nothing where no label is removed.

import { type Metric, NO_ROW, ROLE, type SeriesTable } from '../../model.ts';
import { labelValue, type SeriesKey } from '../decode/series-key.ts';
import { beginAnew, isOnPage, moveSeries } from './compound.ts';
import { findSeries } from './find-series.ts';
import { isPointLabel, scopePart } from './point-labels.ts';

/** Where a head belongs, as far as its identity is concerned. */
export interface TwinContext {
  readonly key: SeriesKey;
  readonly metric: Metric;
  /** Index into table.services. */
  readonly service: number;
  readonly dropLabels: ReadonlySet<string>;
}

/** Finds out whether the point of a new head has the identity of another one. */
export function registerIdentity(table: SeriesTable, head: number, context: TwinContext): void {
  const { key, metric, service } = context;
  const slot = table.services[service];
  const role = table.role[head];
  const kept = key.labels.filter(
    ([label]) => scopePart(label) !== null || isPointLabel(label, role, context.dropLabels),
  );
  const isCompound = table.compounds.has(head);
  const ownLabels = labelValue(key, 'namespace') === '' ? 0 : 1;
  const isAtRisk =
    isCompound ||
    key.labels.length > kept.length + ownLabels ||
    metric.sentName !== metric.name ||
    (slot !== undefined && slot.hasNamed && slot.hasBare);
  if (!isAtRisk && table.identities.size === 0) return;
  const sorted = kept.toSorted(([a], [b]) => (a < b ? -1 : 1));
  // Of one name a number and a distribution are two series, though only one of them can be on a page.
  const identity = JSON.stringify([service, metric.sentName, isCompound, sorted]);
  const known =
    table.identities.get(identity) ??
    (isCompound ? undefined : plainRow(table, head, kept, context));
  if (known !== undefined) table.twins.set(head, table.twins.get(known) ?? known);
  else if (isAtRisk) table.identities.set(identity, head);
}

/** A series that lost no label but its namespace is found by its key: there is no need to keep its identity. */
function plainRow(
  table: SeriesTable,
  head: number,
  kept: readonly (readonly [string, string])[],
  { metric, service }: TwinContext,
): number | undefined {
  const id = table.services[service]?.id ?? '';
  const bare = findSeries(table, metric.sentName, kept);
  const named = findSeries(table, metric.sentName, [...kept, ['namespace', id]]);
  return [bare, named].find(row => row !== head && isPlaced(table, row, service));
}

/** True for a series of this service that has its place already, and is a point by itself. */
function isPlaced(table: SeriesTable, row: number, service: number): boolean {
  const kind = table.metrics[table.metric[row] ?? 0]?.kind;
  const isNumber = table.role[row] === ROLE.scalar && kind !== 'histogram' && kind !== 'summary';
  return isNumber && table.blocks[table.block[row] ?? NO_ROW]?.service === service;
}

/** Lets twins whose owner has left the page go on in its place; call it before a page is judged. */
export function settleTwins(table: SeriesTable): void {
  const { lastTimeMs } = table;
  for (const [twin, owner] of table.twins) {
    // Only what a former process left can be a twin's memory: it sent this one, and so does this process.
    if (!Number.isNaN(lastTimeMs[twin])) {
      const isOwnerLater = (lastTimeMs[owner] ?? Number.NaN) >= (lastTimeMs[twin] ?? Number.NaN);
      beginAnew(table, isOwnerLater ? twin : owner);
      if (!isOwnerLater) change(table, owner, twin);
    } else if (isPointOnPage(table, twin) && !isPointOnPage(table, owner)) {
      takeOver(table, owner, twin);
      table.twins.set(owner, twin);
    }
  }
}

/** Twin and owner change places; each keeps what it remembers. */
function change(table: SeriesTable, owner: number, twin: number): void {
  table.twins.delete(twin);
  moveIdentity(table, owner, twin);
  table.twins.set(owner, twin);
  table.isOrderStale = true;
}

function isPointOnPage(table: SeriesTable, head: number): boolean {
  const compound = table.compounds.get(head);
  if (compound === undefined) return isOnPage(table, head);
  return isOnPage(table, compound.count) || compound.rows.some(row => isOnPage(table, row));
}

/** These heads are given up: each identity goes to a twin, or is free again. */
export function forgetIdentities(table: SeriesTable, gone: ReadonlySet<number>): void {
  for (const head of gone) table.twins.delete(head);
  for (const [twin, owner] of table.twins) if (gone.has(owner)) takeOver(table, owner, twin);
  for (const [identity, owner] of table.identities)
    if (gone.has(owner)) table.identities.delete(identity);
}

/** A point has another head now. */
export function moveIdentity(table: SeriesTable, from: number, to: number): void {
  const owner = table.twins.get(from);
  if (owner !== undefined) {
    table.twins.delete(from);
    table.twins.set(to, owner);
  }
  for (const [twin, known] of table.twins) if (known === from) table.twins.set(twin, to);
  for (const [identity, known] of table.identities)
    if (known === from) table.identities.set(identity, to);
}

function takeOver(table: SeriesTable, owner: number, twin: number): void {
  table.twins.delete(twin);
  moveIdentity(table, owner, twin);
  // This forgets what was saved, too.
  moveSeries(table, owner, twin);
  copyValues(table, owner, twin);
  table.isOrderStale = true;
}

/** What the next values are compared with, part by part. */
function copyValues(table: SeriesTable, owner: number, twin: number): void {
  const { lastValue, compounds } = table;
  const copy = (from: number | undefined, to: number | undefined): void => {
    if (from !== undefined && to !== undefined) lastValue[to] = lastValue[from] ?? Number.NaN;
  };
  const [old, next] = [compounds.get(owner), compounds.get(twin)];
  if (old === undefined || next === undefined) return copy(owner, twin);
  copy(old.count, next.count);
  copy(old.sum, next.sum);
  for (const [i, bound] of next.bounds.entries())
    copy(old.rows[old.bounds.indexOf(bound)], next.rows[i]);
}
