// Series that differ only in labels that are not sent (docs/mapping.md I1, drop_labels) are one
// series to the back end: with both, the request would contain a point twice and be refused as a
// whole. One of them owns the identity and is sent; the others are dropped as duplicates. If the
// owner leaves the page, a duplicate continues its series, or begins again if both were on one page:
// then they are two counters. In: new heads of points. Out: table.duplicates. Without removed labels
// this costs nothing.

import { crc32 } from 'node:zlib';
import { isCompound } from '../../model/metric.ts';
import { NO_ROW, ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import type { Identity } from '../../model/memory.ts';
import { findSeries } from '../decode/row-index.ts';
import { labelValue, type SeriesKey } from '../decode/series-key.ts';
import { forgetSeries, isOnPage, moveSeries } from './compound.ts';
import { serviceOfRow } from './places.ts';
import { scopePart, sentLabels } from './point-labels.ts';

/** Registers a new head, as the owner of its identity or as a duplicate. */
export function registerIdentity(
  table: SeriesTable,
  head: number,
  key: SeriesKey,
  dropLabels: ReadonlySet<string>,
): void {
  const metric = table.metrics[table.metric[head]!]!;
  if (!metric.isIncluded) return;
  const slot = table.services[serviceOfRow(table, head)]!;
  const role = table.role[head];
  const kept = [
    ...key.labels.filter(([label]) => scopePart(label) !== null),
    ...sentLabels(key.labels, role, { dropLabels, rules: metric.labelRules }),
  ];
  const isDistribution = table.compounds.has(head);
  const ownLabels = labelValue(key, 'namespace') === '' ? 0 : 1;
  const isAtRisk =
    isDistribution ||
    key.labels.length > kept.length + ownLabels ||
    metric.sentName !== metric.name ||
    metric.labelRules !== null ||
    (slot.hasNamed && slot.hasBare);
  if (!isAtRisk && table.identities.size === 0) return;
  const sorted = kept.toSorted(([a], [b]) => (a < b ? -1 : 1));
  // A number and a distribution of one name are two series, though a page can have only one of
  // them.
  const identity = JSON.stringify([slot.id, metric.sentName, isDistribution, sorted]);
  const known = table.identities.get(identity);
  if (known !== undefined) return addDuplicate(table, known, head);
  const plain = isDistribution ? undefined : plainRow(table, head, kept);
  if (plain !== undefined) {
    // The row may have had another identity, as a part of a distribution.
    forgetIdentities(table, [plain]);
    addDuplicate(table, addOwner(table, identity, plain), head);
  } else if (isAtRisk) addOwner(table, identity, head);
}

function addOwner(table: SeriesTable, key: string, owner: number): Identity {
  const identity = { key, check: crc32(key) || 1, owner, isShared: false, duplicates: null };
  table.startsVersion++;
  table.identities.set(key, identity);
  table.owners.set(owner, identity);
  return identity;
}

function addDuplicate(table: SeriesTable, identity: Identity, duplicate: number): void {
  (identity.duplicates ??= new Set()).add(duplicate);
  table.duplicates.set(duplicate, identity);
}

/**
 * Finds the series with these labels that loses no label but its namespace. Its key is enough to
 * find it, so its identity need not be kept.
 */
function plainRow(
  table: SeriesTable,
  head: number,
  kept: readonly (readonly [string, string])[],
): number | undefined {
  const { sentName } = table.metrics[table.metric[head]!]!;
  const service = serviceOfRow(table, head);
  const { id } = table.services[service]!;
  const bare = findSeries(table, sentName, kept);
  const named = findSeries(table, sentName, [...kept, ['namespace', id]]);
  return [bare, named].find(
    row => row !== head && serviceOfRow(table, row) === service && isSentAsIs(table, row),
  );
}

/** True for a number that is sent under the name and labels of its key. */
function isSentAsIs(table: SeriesTable, row: number): boolean {
  const metric = table.metrics[table.metric[row]!]!;
  if (table.role[row] !== ROLE.scalar || isCompound(metric) || !metric.isIncluded) return false;
  return metric.sentName === metric.name && metric.labelRules === null;
}

/** Replaces each owner that has left the page by a duplicate. Call this before judging a page. */
export function settleDuplicates(table: SeriesTable): void {
  for (const [duplicate, identity] of table.duplicates) {
    const { owner } = identity;
    // A duplicate has a last time only if the previous process sent it: this process sends it too.
    if (knowsMore(table, duplicate, owner)) {
      forgetSeries(table, owner);
      handOver(table, identity, duplicate);
      addDuplicate(table, identity, owner);
      continue;
    }
    if (!Number.isNaN(table.lastTimeMs[duplicate])) forgetSeries(table, duplicate);
    if (!isPointOnPage(table, duplicate)) continue;
    const isLive = isPointOnPage(table, owner);
    if (isLive) identity.isShared = true;
    // A series that metrics.rename has renamed never replaces one that has the name on the page.
    if (isLive && !(isRenamed(table, owner) && !isRenamed(table, duplicate))) continue;
    takeOver(table, identity, duplicate);
    addDuplicate(table, identity, owner);
  }
}

/** Whether a duplicate was sent later than its owner, or the owner knows only the same time. */
function knowsMore(
  { lastTimeMs, processMs }: SeriesTable,
  duplicate: number,
  owner: number,
): boolean {
  const [duplicateMs, ownerMs] = [lastTimeMs[duplicate]!, lastTimeMs[owner]!];
  if (Number.isNaN(duplicateMs) || ownerMs > duplicateMs) return false;
  return ownerMs !== duplicateMs || Number.isNaN(processMs[owner]!);
}

function isRenamed({ metrics, metric }: SeriesTable, head: number): boolean {
  const { name, sentName, labelRules } = metrics[metric[head]!]!;
  return sentName !== name || labelRules !== null;
}

function isPointOnPage(table: SeriesTable, head: number): boolean {
  const compound = table.compounds.get(head);
  if (compound === undefined) return isOnPage(table, head);
  return isOnPage(table, compound.count) || compound.rows.some(row => isOnPage(table, row));
}

/** Forgets heads. A duplicate takes over their identity; without one, the identity is removed. */
export function forgetIdentities(table: SeriesTable, gone: Iterable<number>): void {
  for (const head of gone) {
    table.duplicates.get(head)?.duplicates?.delete(head);
    table.duplicates.delete(head);
  }
  for (const head of gone) {
    const identity = table.owners.get(head);
    if (identity === undefined) continue;
    const [heir] = identity.duplicates ?? [];
    if (heir !== undefined) takeOver(table, identity, heir);
    else {
      table.owners.delete(head);
      table.identities.delete(identity.key);
    }
  }
}

/** Moves the identity to the new head of a point. */
export function moveIdentity(table: SeriesTable, from: number, to: number): void {
  const known = table.duplicates.get(from);
  if (known !== undefined) {
    known.duplicates?.delete(from);
    table.duplicates.delete(from);
    addDuplicate(table, known, to);
  }
  const own = table.owners.get(from);
  if (own === undefined) return;
  table.startsVersion++;
  own.owner = to;
  table.owners.delete(from);
  table.owners.set(to, own);
}

/** Makes a duplicate the owner; the old owner has no identity then. */
function handOver(table: SeriesTable, identity: Identity, duplicate: number): void {
  identity.duplicates?.delete(duplicate);
  table.duplicates.delete(duplicate);
  moveIdentity(table, identity.owner, duplicate);
  table.orderVersion++;
}

/** handOver(), including the owner's series. */
function takeOver(table: SeriesTable, identity: Identity, duplicate: number): void {
  const { owner } = identity;
  handOver(table, identity, duplicate);
  moveSeries(table, owner, duplicate);
  if (identity.isShared) table.forgetStream(duplicate);
  copyValues(table, identity.isShared ? NO_ROW : owner, duplicate);
}

/** Copies what the next samples are compared with, part by part. */
function copyValues(table: SeriesTable, owner: number, duplicate: number): void {
  const { lastValue, flags, compounds } = table;
  const { observed } = ROW_FLAG;
  const copy = (from: number, to: number): void => {
    table.setLastValue(to, lastValue[from] ?? Number.NaN);
    flags[to] = (flags[to]! & ~observed) | ((flags[from] ?? 0) & observed);
  };
  const next = compounds.get(duplicate);
  if (next === undefined) return copy(owner, duplicate);
  // The rows of a point that is being forgotten are gone already.
  const { count = NO_ROW, sum = NO_ROW, rows = [], bounds = [] } = compounds.get(owner) ?? {};
  copy(count, next.count);
  copy(sum, next.sum);
  for (const [i, bound] of next.bounds.entries()) {
    // Of several spellings of a bound one has the value.
    const known = rows.find((row, at) => bounds[at] === bound && !Number.isNaN(lastValue[row]));
    copy(known ?? NO_ROW, next.rows[i]!);
  }
}
