// Series that differ only in labels that are not sent (docs/how-it-works/mapping.md I1, drop_labels) are one
// series to the back end: with both, the request would contain a point twice and be refused as a
// whole. The first on each page is sent, the others are dropped as duplicates. Nothing passes from
// one to another but the time of the last point: another sender is another counter. In: new heads
// of points. Out: table.duplicates. Without removed labels this costs nothing.

import { isCompound } from '../../model/metric.ts';
import { ROLE, ROW_FLAG, type SeriesTable } from '../../model/series-table.ts';
import type { Identity } from '../../model/memory.ts';
import { findSeries } from '../decode/row-index.ts';
import { labelValue, type SeriesKey } from '../decode/series-key.ts';
import { forgetSeries, isOnPage } from './compound.ts';
import { serviceOfRow } from './places.ts';
import { laterMs } from './reset.ts';
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
  if (known !== undefined) return addHead(table, known, head);
  const plain = isDistribution ? undefined : plainRow(table, head, kept);
  if (plain !== undefined) {
    // The row may have had another identity, as a part of a distribution.
    forgetIdentities(table, [plain]);
    addHead(table, addIdentity(table, identity, plain), head);
  } else if (isAtRisk) addIdentity(table, identity, head);
}

function addIdentity(table: SeriesTable, key: string, head: number): Identity {
  const identity = { key, heads: [head], sender: head };
  table.identities.set(key, identity);
  table.identityOf.set(head, identity);
  return identity;
}

function addHead(table: SeriesTable, identity: Identity, head: number): void {
  identity.heads.push(head);
  table.identityOf.set(head, identity);
  table.shared.add(identity);
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

/** Makes a head that the previous process sent the sender of its identity, so that the one sent from now on comes after it. */
export function continueSender(table: SeriesTable, head: number): void {
  const { lastTimeMs } = table;
  const identity = table.identityOf.get(head);
  if (identity === undefined || identity.sender === head || Number.isNaN(lastTimeMs[head]!)) return;
  const isNewer = !(lastTimeMs[identity.sender]! >= lastTimeMs[head]!);
  forgetSeries(table, isNewer ? identity.sender : head);
  if (isNewer) identity.sender = head;
  table.orderVersion++;
}

const AFTER_ALL_LINES = 2 ** 32;

/** Finds the first point of each identity on this page, and hides the others. Call this before judging a page. */
export function settleDuplicates(table: SeriesTable): void {
  table.duplicates.clear();
  for (const identity of table.shared) {
    let firstPlace = Infinity;
    let first = identity.sender;
    for (const head of identity.heads) {
      const place = placeOf(table, head);
      if (place >= firstPlace) continue;
      firstPlace = place;
      first = head;
    }
    if (first !== identity.sender) follow(table, identity, first);
    for (const head of identity.heads) if (head !== first) table.duplicates.add(head);
  }
}

/**
 * Where a point stands on this page; Infinity if it is absent. A series that metrics.rename has renamed comes after
 * those that have the name on the page.
 */
function placeOf(table: SeriesTable, head: number): number {
  const { name, sentName, labelRules } = table.metrics[table.metric[head]!]!;
  const isRenamed = sentName !== name || labelRules !== null;
  return lineOf(table, head) + (isRenamed ? AFTER_ALL_LINES : 0);
}

function lineOf(table: SeriesTable, head: number): number {
  const compound = table.compounds.get(head);
  const rows = compound === undefined ? [head] : [compound.count, ...compound.rows];
  return rows.reduce(
    (first, row) => (isOnPage(table, row) ? Math.min(first, table.line[row]!) : first),
    Infinity,
  );
}

/** Makes another head the sender. It begins a new stream after the last point of the identity. */
function follow(table: SeriesTable, identity: Identity, next: number): void {
  const { lastTimeMs, flags } = table;
  const before = identity.sender;
  const lastMs = laterMs(lastTimeMs[before]!, lastTimeMs[next]!);
  const { sent, staleSent, explicitTime } = ROW_FLAG;
  const ofSeries = flags[before]! & (sent | staleSent | explicitTime);
  forgetSeries(table, before);
  forgetSeries(table, next);
  lastTimeMs[next] = lastMs;
  flags[next] = flags[next]! | ofSeries;
  identity.sender = next;
  table.orderVersion++;
}

/** Forgets heads; an identity without heads is removed. */
export function forgetIdentities(table: SeriesTable, gone: Iterable<number>): void {
  for (const head of gone) {
    const identity = table.identityOf.get(head);
    if (identity === undefined) continue;
    table.identityOf.delete(head);
    table.duplicates.delete(head);
    const { heads } = identity;
    heads.splice(heads.indexOf(head), 1);
    const [next] = heads;
    if (next === undefined) table.identities.delete(identity.key);
    else if (identity.sender === head) identity.sender = next;
    if (heads.length < 2) table.shared.delete(identity);
  }
}

/** Moves the identity to the new head of a point. */
export function moveIdentity(table: SeriesTable, from: number, to: number): void {
  const identity = table.identityOf.get(from);
  if (identity === undefined) return;
  identity.heads[identity.heads.indexOf(from)] = to;
  if (identity.sender === from) identity.sender = to;
  table.identityOf.delete(from);
  table.identityOf.set(to, identity);
  if (table.duplicates.delete(from)) table.duplicates.add(to);
}
