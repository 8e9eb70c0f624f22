// Series that differ only in labels which do not reach the back end (otlp-mapping I1, drop_labels): there they would
// be one series, written twice with one time, and a back end refuses the whole request for it. One of them owns the
// identity and is sent; its twins are dropped as duplicates. When the owner leaves the page, a twin goes on with its
// series. In: heads of points as they get their place. Out: table.twins. Costs nothing where no label is removed.

import { crc32 } from 'node:zlib';
import type { Metric } from '../../model/metric.ts';
import { ROLE, type SeriesTable } from '../../model/series-table.ts';
import type { Identity } from '../../model/memory.ts';
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
  const identity = JSON.stringify([slot?.id, metric.sentName, isCompound, sorted]);
  const known = table.identities.get(identity);
  if (known !== undefined) return addTwin(table, known, head);
  const plain = isCompound ? undefined : plainRow(table, head, kept, context);
  if (plain !== undefined) addTwin(table, addOwner(table, identity, plain), head);
  else if (isAtRisk) addOwner(table, identity, head);
}

function addOwner(table: SeriesTable, key: string, owner: number): Identity {
  const identity = { key, check: crc32(key) || 1, owner, twins: new Set<number>() };
  table.savedStarts = null;
  table.identities.set(key, identity);
  table.owners.set(owner, identity);
  return identity;
}

function addTwin(table: SeriesTable, identity: Identity, twin: number): void {
  identity.twins.add(twin);
  table.twins.set(twin, identity);
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
  const kind = table.metrics[table.metric[row]!]?.kind;
  const isNumber = table.role[row] === ROLE.scalar && kind !== 'histogram' && kind !== 'summary';
  return isNumber && table.blocks[table.block[row]!]?.service === service;
}

/** Lets twins whose owner has left the page go on in its place; call it before a page is judged. */
export function settleTwins(table: SeriesTable): void {
  for (const [twin, identity] of table.twins) {
    const { owner } = identity;
    // Only what a former process left can be a twin's memory: it sent this one, and so does this process.
    if (knowsMore(table, twin, owner)) {
      beginAnew(table, owner);
      handOver(table, identity, twin);
      addTwin(table, identity, owner);
      continue;
    }
    if (!Number.isNaN(table.lastTimeMs[twin])) beginAnew(table, twin);
    if (isPointOnPage(table, twin) && !isPointOnPage(table, owner)) {
      takeOver(table, identity, twin);
      addTwin(table, identity, owner);
    }
  }
}

/** Whether a twin was sent later than its owner; an owner may have been given only the time until which the twin was. */
function knowsMore({ lastTimeMs, processMs }: SeriesTable, twin: number, owner: number): boolean {
  const [twinMs, ownerMs] = [lastTimeMs[twin]!, lastTimeMs[owner]!];
  if (Number.isNaN(twinMs) || ownerMs > twinMs) return false;
  return ownerMs !== twinMs || Number.isNaN(processMs[owner]!);
}

function isPointOnPage(table: SeriesTable, head: number): boolean {
  const compound = table.compounds.get(head);
  if (compound === undefined) return isOnPage(table, head);
  return isOnPage(table, compound.count) || compound.rows.some(row => isOnPage(table, row));
}

/** These heads are given up: each identity goes to a twin, or is free again. */
export function forgetIdentities(table: SeriesTable, gone: Iterable<number>): void {
  for (const head of gone) {
    table.twins.get(head)?.twins.delete(head);
    table.twins.delete(head);
  }
  for (const head of gone) {
    const identity = table.owners.get(head);
    if (identity === undefined) continue;
    const [heir] = identity.twins;
    if (heir !== undefined) takeOver(table, identity, heir);
    else {
      table.owners.delete(head);
      table.identities.delete(identity.key);
    }
  }
}

/** A point has another head now. */
export function moveIdentity(table: SeriesTable, from: number, to: number): void {
  const known = table.twins.get(from);
  if (known !== undefined) {
    known.twins.delete(from);
    table.twins.delete(from);
    addTwin(table, known, to);
  }
  const own = table.owners.get(from);
  if (own === undefined) return;
  table.savedStarts = null;
  own.owner = to;
  table.owners.delete(from);
  table.owners.set(to, own);
}

/** A twin owns the identity from now on; the owner has none. */
function handOver(table: SeriesTable, identity: Identity, twin: number): void {
  identity.twins.delete(twin);
  table.twins.delete(twin);
  moveIdentity(table, identity.owner, twin);
  table.isOrderStale = true;
}

/** The same, with all that is known of the owner's series. */
function takeOver(table: SeriesTable, identity: Identity, twin: number): void {
  const { owner } = identity;
  handOver(table, identity, twin);
  // This forgets what was saved, too.
  moveSeries(table, owner, twin);
  copyValues(table, owner, twin);
}

/** What the next values are compared with, part by part. */
function copyValues(table: SeriesTable, owner: number, twin: number): void {
  const { lastValue, compounds } = table;
  const copy = (from: number | undefined, to: number | undefined): void => {
    if (from !== undefined && to !== undefined) lastValue[to] = lastValue[from]!;
  };
  const [old, next] = [compounds.get(owner), compounds.get(twin)];
  if (old === undefined || next === undefined) return copy(owner, twin);
  copy(old.count, next.count);
  copy(old.sum, next.sum);
  for (const [i, bound] of next.bounds.entries())
    copy(old.rows[old.bounds.indexOf(bound)], next.rows[i]);
}
