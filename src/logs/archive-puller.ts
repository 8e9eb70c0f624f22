// One pull of one API whose lists hold archives: lists every day that is not closed, downloads what has grown,
// lets go what is held back too long, passes over what cannot be had, closes days. Every step is committed with
// what it gave; a pull that ends in the middle goes on in the next one.

import { closeDays, type KnownArchive, knownArchives } from './archive-days.ts';
import { ArchiveLister, type ArchiveListing } from './archive-listing.ts';
import { ArchiveReading, type BrokenEnd } from './archive-reading.ts';
import {
  actionFor,
  type ArchiveAction,
  afterAbsent,
  afterFault,
  afterFlush,
  afterListed,
  isCurrent,
  isLastTry,
} from './archive-state.ts';
import { ArchiveWriter } from './archive-writer.ts';
import type { Descriptor } from './descriptor.ts';
import type { Gap } from './gap.ts';
import { Ledger } from './ledger.ts';
import { openLedger } from './open-ledger.ts';
import { DONE, endOfList, type PullEnd } from './pull-end.ts';
import type { ListFailure } from './list.ts';
import type { Partition } from './partition.ts';
import { partitionKey } from './partition.ts';
import type { PullContext, PullRun } from './pull-context.ts';
import { findOldestDay, noteLostDays, raiseFloor } from './retention.ts';
import { DAY_MS, firstListedDay } from './windows.ts';

const DOWNLOADS: ReadonlySet<ArchiveAction> = new Set(['download', 'final']);

/** So many archives in a row that cannot be reached end the pull: it is not about them. */
const UNREACHABLE_MAX = 2;

export class ArchivePuller {
  readonly #context: PullContext;
  #ledger: Ledger | null = null;
  /** How often a day could not be listed, and when an archive was read last (monotonic). */
  readonly #failedCounts = new Map<number, number>();
  readonly #readAtMs = new Map<string, number>();

  constructor(context: PullContext) {
    this.#context = context;
  }

  async pull(run: PullRun): Promise<PullEnd> {
    const ledger = this.#ledger ?? (await openLedger(this.#context, run));
    if (!(ledger instanceof Ledger)) return ledger;
    this.#ledger = ledger;
    const end = await this.#pull(ledger, run);
    // What was changed for a commit that did not come about must not be stored by a later one.
    if (end.kind === 'stopped' || end.kind === 'failed') this.#ledger = null;
    return end;
  }

  async #pull(ledger: Ledger, run: PullRun): Promise<PullEnd> {
    const context = this.#context;
    const { services } = context.options;
    const toMs = context.serverNowMs();
    const firstDays = services.map(({ id }) => {
      const { openDayMs, floorMs } = ledger.days(id);
      return firstListedDay(openDayMs, { nowMs: toMs, floorMs });
    });
    const fromDayMs = Math.min(...firstDays);
    const listing = await new ArchiveLister(context, run).list(fromDayMs, toMs);
    if (run.signal.aborted) return { kind: 'stopped' };
    if (listing.failure !== null && isRefused(listing.failure) && listing.endMs === fromDayMs) {
      const floorMs = await findOldestDay(context, fromDayMs, run);
      if (floorMs === null || floorMs <= fromDayMs) return endOfList(listing.failure);
      const result = await raiseFloor(context, ledger, floorMs, run.signal);
      return result === 'stored' ? this.#pull(ledger, run) : { kind: result };
    }
    // Nothing that has been listed up to here is later than what the service's clock showed meanwhile.
    const nowMs = Math.min(toMs, context.serverNowMs());
    const listed = this.#note(ledger, listing, fromDayMs);
    const lost = await noteLostDays(context, ledger, listing, nowMs, run.signal);
    if (lost !== 'stored') return { kind: lost };
    const end = await this.#work(ledger, listed, run);
    if (end.kind === 'stopped' || end.kind === 'failed') return end;
    const stored = await this.#finish(ledger, { listing, toMs: nowMs, run });
    if (stored !== 'stored') return { kind: stored };
    return end.kind === 'done' && listing.failure !== null ? endOfList(listing.failure) : end;
  }

  /** Takes over what the list says; gives what it had, by identity. */
  #note(ledger: Ledger, listing: ArchiveListing, fromDayMs: number): Map<string, Descriptor> {
    const listed = new Map<string, Descriptor>();
    for (const descriptor of listing.descriptors) {
      const { partition, id, dayMs, size } = descriptor;
      if (dayMs < ledger.days(partition.service.id).openDayMs) continue;
      if (ledger.partition(partition) === null) {
        this.#context.options.meter.refused('too_many');
        continue;
      }
      listed.set(identityOf(partition, id), descriptor);
      const before = ledger.archive(partition, id, dayMs);
      const after = afterListed(before, size);
      if (after !== before || size === null) ledger.setArchive(partition, id, after);
    }
    for (const { partition, id, state } of knownArchives(ledger)) {
      const { dayMs } = state;
      const isAsked = dayMs >= fromDayMs && dayMs < listing.endMs && !listing.failedDays.has(dayMs);
      if (!isAsked || listed.has(identityOf(partition, id))) continue;
      const after = afterAbsent(state, ledger.days(partition.service.id).listedMs ?? fromDayMs);
      if (after !== state) ledger.setArchive(partition, id, after);
    }
    for (const dayMs of listing.failedDays)
      this.#failedCounts.set(dayMs, (this.#failedCounts.get(dayMs) ?? 0) + 1);
    return listed;
  }

  /** Does what is to be done for each archive: the oldest days first, of a day what has waited longest. */
  async #work(ledger: Ledger, listed: Map<string, Descriptor>, run: PullRun): Promise<PullEnd> {
    const { meter, budget, name, config } = this.#context.options;
    let postponedCount = 0;
    let unreachableCount = 0;
    const archives = this.#inOrder(ledger);
    const { dayCloseGraceMs } = config.window;
    const isDue = ({ partition, id, state }: KnownArchive): boolean =>
      listed.has(identityOf(partition, id)) &&
      DOWNLOADS.has(actionFor(state, this.#context.serverNowMs(), dayCloseGraceMs));
    const progress = meter.begin(name, archives.filter(isDue).length);
    for (const archive of archives) {
      if (run.signal.aborted) return { kind: 'stopped' };
      const { partition, id, state } = archive;
      const descriptor = listed.get(identityOf(partition, id));
      const action = actionFor(state, this.#context.serverNowMs(), dayCloseGraceMs);
      if (action === 'flush') {
        const result = await this.#flush(ledger, archive, run);
        if (result !== 'stored') return { kind: result };
        continue;
      }
      if (action === 'nothing' || descriptor === undefined) {
        meter.archive('unchanged');
        continue;
      }
      if (!budget.isOpen) {
        postponedCount++;
        meter.archive('postponed');
        continue;
      }
      const end = await this.#read(ledger, descriptor, { isFinal: action === 'final', run });
      progress.doneCount++;
      if (end.kind === 'stopped' || end.kind === 'failed') return end;
      unreachableCount = end.kind === 'unreachable' ? unreachableCount + 1 : 0;
      if (end.kind === 'unreachable' && unreachableCount >= UNREACHABLE_MAX) return end;
    }
    return { kind: 'done', postponedCount };
  }

  #inOrder(ledger: Ledger): readonly KnownArchive[] {
    const readAtMs = ({ partition, id }: KnownArchive): number =>
      this.#readAtMs.get(identityOf(partition, id)) ?? -Infinity;
    return [...knownArchives(ledger)].sort(
      (a, b) => a.state.dayMs - b.state.dayMs || readAtMs(a) - readAtMs(b),
    );
  }

  async #read(
    ledger: Ledger,
    descriptor: Descriptor,
    { isFinal, run }: { readonly isFinal: boolean; readonly run: PullRun },
  ): Promise<PullEnd> {
    const { meter, permits, clock } = this.#context.options;
    const { partition, id } = descriptor;
    const status = meter.status(partition);
    status.state = 'pulling';
    const end = await permits.run(() =>
      new ArchiveReading(this.#context, ledger, descriptor, isFinal, run).run(),
    );
    status.state = end.kind === 'read' || end.kind === 'stopped' ? 'waiting' : 'failed';
    this.#readAtMs.set(identityOf(partition, id), clock.monotonicMs());
    if (end.kind === 'broken') return this.#noteFault(ledger, descriptor, { ...end, run });
    if (end.kind === 'unreachable') {
      meter.archive('failed');
      status.lastError = end.failure.message;
      return end;
    }
    if (end.kind !== 'read') return { kind: end.kind };
    meter.archive('read');
    status.lastError = null;
    return DONE;
  }

  async #noteFault(
    ledger: Ledger,
    descriptor: Descriptor,
    { reason, cause, kept, run }: BrokenEnd & { readonly run: PullRun },
  ): Promise<PullEnd> {
    const { meter } = this.#context.options;
    const { partition, id, dayMs } = descriptor;
    const before = ledger.archive(partition, id, dayMs);
    const isGivenUp = isLastTry(before, reason) && before.setAside === '';
    if (isGivenUp) {
      // The last records that were read of it will never be completed.
      const flushed = await this.#flush(ledger, { partition, id, state: before }, run);
      if (flushed !== 'stored') return { kind: flushed };
    }
    const held = ledger.archive(partition, id, dayMs);
    const after = afterFault(held, reason, this.#context.serverNowMs());
    ledger.setArchive(partition, id, after);
    meter.archive(isGivenUp ? 'set_aside' : 'broken');
    if (isGivenUp) meter.setAside(partition, { archive: id, reason, cause, kept });
    else meter.broken(partition, id, cause);
    if (!isGivenUp) return DONE;
    const span = { fromMs: dayMs, toMs: dayMs + DAY_MS };
    const gap: Gap = { partition, span, reason, archive: id };
    const changes = ledger.changesOf(partition);
    const result = await this.#context.storeGaps([gap], changes, run.signal);
    if (result !== 'stored') return { kind: result };
    ledger.stored(changes);
    return DONE;
  }

  /** What was held back in records that are still open. */
  async #flush(
    ledger: Ledger,
    { partition, id, state }: KnownArchive,
    run: PullRun,
  ): Promise<'stored' | 'stopped' | 'failed'> {
    const writer = new ArchiveWriter(this.#context, ledger, {
      partition,
      id,
      name: id,
      dayMs: state.dayMs,
    });
    const reader = this.#context.reader(partition.type);
    const entries = { ...state.entries };
    for (const [name, progress] of Object.entries(state.entries)) {
      reader.restore(progress.reader);
      writer.add(reader.flush(), name);
      entries[name] = { ...progress, reader: reader.save() };
    }
    writer.state = afterFlush(state, entries);
    return writer.commit(run.signal);
  }

  /** Closes days, stores what has changed, and says how far each partition is. */
  async #finish(
    ledger: Ledger,
    pulled: {
      readonly listing: ArchiveListing;
      readonly toMs: number;
      readonly run: PullRun;
    },
  ): Promise<'stored' | 'stopped' | 'failed'> {
    const { listing, toMs, run } = pulled;
    const { meter, store } = this.#context.options;
    const behind = new Set(
      knownArchives(ledger)
        .filter(({ state }) => state.setAside === '' && !isCurrent(state) && !isUnsized(state))
        .map(({ partition }) => partitionKey(partition)),
    );
    const closed = await closeDays(this.#context, ledger, {
      listing,
      toMs,
      failedCounts: this.#failedCounts,
      signal: run.signal,
    });
    if (closed !== 'stored') return closed;
    const changes = ledger.allChanges();
    const result = changes.length === 0 ? 'stored' : await store.store([], changes, run.signal);
    if (result !== 'stored') return result;
    ledger.stored(changes);
    this.#forget(ledger);
    if (listing.failure !== null) return 'stored';
    for (const { partition } of ledger.partitions())
      if (!behind.has(partitionKey(partition))) meter.status(partition).doneUntilMs = toMs;
    return 'stored';
  }

  /** What is remembered beside the ledger, of archives and days that are closed. */
  #forget(ledger: Ledger): void {
    const known = new Set(
      knownArchives(ledger).map(({ partition, id }) => identityOf(partition, id)),
    );
    for (const identity of this.#readAtMs.keys())
      if (!known.has(identity)) this.#readAtMs.delete(identity);
    const openDays = this.#context.options.services.map(({ id }) => ledger.days(id).openDayMs);
    for (const dayMs of this.#failedCounts.keys())
      if (dayMs < Math.min(...openDays)) this.#failedCounts.delete(dayMs);
  }
}

function identityOf(partition: Partition, id: string): string {
  return `${partitionKey(partition)} ${id}`;
}

function isUnsized({ listedSize, isRead }: KnownArchive['state']): boolean {
  return listedSize === null && isRead;
}

function isRefused(failure: ListFailure): boolean {
  return failure.kind === 'service' && failure.failure.reason === 'bad_request';
}
