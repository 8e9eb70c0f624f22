// One pull of one API whose lists hold the records themselves: window after window, from the low watermark to where
// lines may still be on their way. Records that were sent before are known by their ids; a window is done when
// every record of it is committed, and only then the low watermark moves.

import type { ServiceConfig } from '../config/config.ts';
import type { Batch } from '../model/batch.ts';
import { isOfWindow } from './archive-listing.ts';
import { firstStartGap, type Gap } from './gap.ts';
import { type ListFailure, listPages } from './list.ts';
import type { StateChange, StoreResult } from './log-store.ts';
import { learnTime } from './open-ledger.ts';
import { type Partition, partitionKey } from './partition.ts';
import type { PullContext, PullRun } from './pull-context.ts';
import { DONE, endOfList, type PullEnd } from './pull-end.ts';
import { CHUNK_BYTES_MAX, CHUNK_RECORDS_MAX } from './chunk.ts';
import { ItemReader, type ReadItem } from './record-items.ts';
import { RecordLedger } from './record-ledger.ts';
import { findOldestDay } from './retention.ts';
import { Slicer } from './slicer.ts';
import {
  afterFailure,
  afterWindow,
  atFloor,
  firstLowMs,
  nextWindow,
  type Span,
  startCursor,
  type WindowCursor,
} from './windows.ts';

/** Stands for every type, where none is named. */
const ANY_TYPE = '';
/** More records than this are not asked for in one window. */
const WINDOW_RECORDS_MAX = 200_000;
/** The oldest first start that can be asked for window by window. */
const OLDEST_START_MS = 90 * 86_400_000;

type WindowEnd =
  | { readonly kind: 'read'; readonly serverNowMs: number | null }
  | { readonly kind: 'list'; readonly failure: ListFailure }
  | { readonly kind: 'stopped' | 'failed' };

/** One type of log of all services of the API: they are listed together. */
interface Scope {
  readonly type: string;
  readonly ledgers: ReadonlyMap<string, RecordLedger>;
}

/** Records that wait for their commit. */
interface Waiting {
  readonly items: ReadItem[];
  count: number;
  bytes: number;
}

export class RecordPuller {
  readonly #context: PullContext;
  #scopes: readonly Scope[] | null = null;

  constructor(context: PullContext) {
    this.#context = context;
  }

  async pull(run: PullRun): Promise<PullEnd> {
    const scopes = this.#scopes ?? (await this.#open(run));
    if (!Array.isArray(scopes)) return scopes as PullEnd;
    this.#scopes = scopes as readonly Scope[];
    let worst: PullEnd = DONE;
    for (const scope of this.#scopes) {
      const end = await this.#pullScope(scope, run);
      if (end.kind === 'stopped' || end.kind === 'failed') {
        this.#scopes = null;
        return end;
      }
      // One type that cannot be listed holds up no other.
      if (end.kind === 'unreachable') worst = end;
    }
    return worst;
  }

  async #open(run: PullRun): Promise<readonly Scope[] | PullEnd> {
    const { config, queue, services } = this.#context.options;
    const end = this.#context.skewMs === null ? await learnTime(this.#context, run) : null;
    if (end !== null) return end;
    const nowMs = this.#context.serverNowMs();
    const firstMs = Math.max(firstLowMs(config.firstStart, nowMs), nowMs - OLDEST_START_MS);
    const start = startCursor(firstMs, config.window);
    const scopes: Scope[] = [];
    for (const type of config.types.length === 0 ? [ANY_TYPE] : config.types) {
      const ledgers = new Map<string, RecordLedger>();
      for (const { id } of services)
        ledgers.set(id, await RecordLedger.load(queue, [id, type], start));
      const scope = { type, ledgers };
      const result = config.firstStart === 'beginning' ? 'stored' : await this.#begin(scope, run);
      if (result !== 'stored') return { kind: result };
      scopes.push(scope);
    }
    return scopes;
  }

  /** Tells, in a shard, from when on the logs are read of services that are new to it. */
  async #begin({ type, ledgers }: Scope, run: PullRun): Promise<StoreResult> {
    const { isSharded, services } = this.#context.options;
    const gaps: Gap[] = [];
    const changes: StateChange[] = [];
    for (const service of services) {
      const ledger = ledgers.get(service.id);
      if (!isSharded || ledger?.isFresh !== true) continue;
      gaps.push(firstStartGap(service, type, ledger.cursor.lowMs));
      changes.push(...ledger.changes([]));
    }
    return gaps.length === 0 ? 'stored' : this.#context.storeGaps(gaps, changes, run.signal);
  }

  async #pullScope(scope: Scope, run: PullRun): Promise<PullEnd> {
    const context = this.#context;
    const { config, meter } = context.options;
    for (;;) {
      if (run.signal.aborted) return { kind: 'stopped' };
      const cursor = cursorOf(scope);
      const window = nextWindow(cursor, context.serverNowMs(), config.window);
      if (window === null) return DONE;
      meter.window(scope.type, window.toMs - cursor.lowMs);
      const end = await this.#readWindow(scope, window, run);
      if (end.kind === 'list') {
        const next = await this.#afterFailure(scope, { window, failure: end.failure, run });
        if (next !== null) return next;
        continue;
      }
      if (end.kind !== 'read') return { kind: end.kind };
      context.noteServerTime(end.serverNowMs);
      // What the service's clock had not reached when the list was made may still come.
      const reachedMs = context.serverNowMs() - config.window.settleDelayMs;
      const toMs = Math.min(window.toMs, reachedMs);
      if (toMs <= cursor.lowMs) return DONE;
      const result = await this.#advance(scope, { fromMs: window.fromMs, toMs }, run);
      if (result !== 'stored') return { kind: result };
    }
  }

  async #readWindow(scope: Scope, window: Span, run: PullRun): Promise<WindowEnd> {
    let end = await this.#readOnce(scope, window, run);
    if (end.kind === 'changed') end = await this.#readOnce(scope, window, run);
    return end.kind === 'changed' ? { kind: 'read', serverNowMs: end.serverNowMs } : end;
  }

  async #readOnce(
    scope: Scope,
    window: Span,
    run: PullRun,
  ): Promise<WindowEnd | { readonly kind: 'changed'; readonly serverNowMs: number | null }> {
    const { api, config, clock, meter } = this.#context.options;
    const items = new ItemReader({
      context: { ...this.#context.items, types: scope.type === ANY_TYPE ? [] : [scope.type] },
      lineBytesMax: config.limits.lineBytes,
      createReader: type => this.#context.reader(type),
    });
    const query = { ...window, type: scope.type === ANY_TYPE ? null : scope.type };
    const pages = listPages(api, query, this.#context.ask(run));
    const slicer = new Slicer(clock);
    const waiting: Waiting = { items: [], count: 0, bytes: 0 };
    let total = 0;
    for (;;) {
      const page = await pages.next();
      if (page.done === true) {
        const result = await this.#commit(scope, waiting, run);
        if (result !== 'stored') return { kind: result };
        if (!page.value.ok) return { kind: 'list', failure: page.value.failure };
        const { isStable, serverNowMs } = page.value;
        return { kind: isStable ? 'read' : 'changed', serverNowMs };
      }
      for (const item of page.value) {
        const read = items.read(item);
        if (typeof read === 'string') meter.refused(read);
        else this.#take(scope, read, waiting);
        if (waiting.count < CHUNK_RECORDS_MAX && waiting.bytes < CHUNK_BYTES_MAX) continue;
        const result = await this.#commit(scope, waiting, run);
        if (result !== 'stored') return { kind: result };
        if (slicer.isOver) await slicer.pause();
      }
      total += page.value.length;
      if (total <= WINDOW_RECORDS_MAX) continue;
      const message = `cannot list logs: more than ${WINDOW_RECORDS_MAX} records in a window`;
      return { kind: 'list', failure: { kind: 'list', reason: 'page_limit', message } };
    }
  }

  #take(scope: Scope, { partition, records }: ReadItem, waiting: Waiting): void {
    const { meter } = this.#context.options;
    const ledger = scope.ledgers.get(partition.service.id);
    if (ledger === undefined) return;
    const { floorMs, lowMs } = ledger.cursor;
    const keptFromMs = lowMs - this.#context.options.config.window.overlapMs;
    const fresh = records.filter(({ uid, record }) => {
      const isBefore = record.timeMs < floorMs;
      // What lies further back was done, and its ids are forgotten: another service is being caught up with.
      const isKnown = record.timeMs < keptFromMs || ledger.isKnown(uid);
      if (isBefore || isKnown) meter.records(partition, isBefore ? 'before_start' : 'known', 1);
      return !isBefore && !isKnown;
    });
    if (fresh.length === 0) return;
    for (const { record } of fresh) {
      if (record.marks !== 0) meter.marks(partition, record.marks);
      waiting.bytes += record.raw.length;
    }
    waiting.items.push({ partition, records: fresh });
    waiting.count += fresh.length;
  }

  /** All that waits, one batch per partition, and the ids of it, in one step. */
  async #commit(
    scope: Scope,
    waiting: Waiting,
    run: PullRun,
  ): Promise<'stored' | 'stopped' | 'failed'> {
    const { store, meter } = this.#context.options;
    if (waiting.count === 0) return 'stored';
    const items = waiting.items.splice(0);
    waiting.count = 0;
    waiting.bytes = 0;
    const batches: Batch[] = [];
    const groups = Map.groupBy(items, ({ partition }) => partitionKey(partition));
    for (const group of groups.values()) batches.push(this.#batchOf(group));
    const changes: StateChange[] = [];
    const changed: RecordLedger[] = [];
    for (const [serviceId, ledger] of scope.ledgers) {
      const own = items.filter(({ partition }) => partition.service.id === serviceId);
      if (own.length === 0) continue;
      const records = own.flatMap(item =>
        item.records.map(({ uid, record }) => ({
          uid,
          timeMs: Number.isNaN(record.timeMs) ? ledger.cursor.lowMs : record.timeMs,
        })),
      );
      changes.push(...ledger.changes(records));
      changed.push(ledger);
    }
    const result = await store.store(batches, changes, run.signal);
    if (result !== 'stored') return result;
    for (const ledger of changed) ledger.stored();
    for (const { partition, records } of items) meter.records(partition, 'queued', records.length);
    return 'stored';
  }

  #batchOf(group: readonly ReadItem[]): Batch {
    const [first] = group;
    const chunk = this.#context.chunk(first?.partition as Partition);
    for (const { records } of group)
      for (const { uid, record } of records) chunk.add(record, uid, '');
    const batch = chunk.end();
    return { ...batch, payload: Buffer.from(batch.payload) };
  }

  async #advance(
    scope: Scope,
    window: Span,
    run: PullRun,
  ): Promise<'stored' | 'stopped' | 'failed'> {
    const { config, store, meter } = this.#context.options;
    const changes: StateChange[] = [];
    for (const ledger of scope.ledgers.values()) {
      ledger.cursor = afterWindow(ledger.cursor, window, config.window);
      changes.push(...ledger.changesWithout(ledger.cursor.lowMs - config.window.overlapMs));
    }
    const result = await store.store([], changes, run.signal);
    if (result !== 'stored') return result;
    for (const ledger of scope.ledgers.values()) ledger.stored();
    for (const service of this.#context.options.services)
      this.#noteDone(service, scope, meter.partitions.length);
    return 'stored';
  }

  #noteDone(service: ServiceConfig, scope: Scope, knownCount: number): void {
    const { meter } = this.#context.options;
    const lowMs = scope.ledgers.get(service.id)?.cursor.lowMs ?? null;
    const own = meter.partitions.filter(
      status =>
        status.service === service.id && (scope.type === ANY_TYPE || status.type === scope.type),
    );
    for (const status of own) status.doneUntilMs = lowMs;
    // Before its first record a type has no source: the lag shows all the same.
    if (own.length === 0 && knownCount < 1000)
      meter.status({ service, source: '', server: '', type: scope.type }).doneUntilMs = lowMs;
  }

  /** Halves the window, or passes it over, or jumps to where logs begin; null when it goes on at once. */
  async #afterFailure(
    scope: Scope,
    failed: { readonly window: Span; readonly failure: ListFailure; readonly run: PullRun },
  ): Promise<PullEnd | null> {
    const { window, failure, run } = failed;
    const { config } = this.#context.options;
    if (run.signal.aborted) return { kind: 'stopped' };
    const isRefused = failure.kind === 'service' && failure.failure.reason === 'bad_request';
    if (!isRefused && !isOfWindow(failure)) return endOfList(failure);
    const floorMs = isRefused ? await findOldestDay(this.#context, window.fromMs, run) : null;
    if (isRefused && (floorMs === null || floorMs <= cursorOf(scope).lowMs))
      return endOfList(failure);
    const isAtLeast = window.toMs - cursorOf(scope).lowMs <= config.window.minMs;
    const gaps: Gap[] = [];
    const changes: StateChange[] = [];
    for (const service of this.#context.options.services) {
      const ledger = scope.ledgers.get(service.id);
      if (ledger === undefined || ledger.cursor.lowMs >= window.toMs) continue;
      const step =
        floorMs === null
          ? afterFailure(ledger.cursor, window, config.window)
          : atFloor(ledger.cursor, floorMs);
      ledger.cursor = step.cursor;
      changes.push(...ledger.changes([]));
      const partition = { service, source: '', server: '', type: scope.type };
      const reason = floorMs === null ? 'window' : 'retention';
      if (step.gap !== null) gaps.push({ partition, span: step.gap, reason, archive: '' });
    }
    const result = await this.#context.storeGaps(gaps, changes, run.signal);
    if (result !== 'stored') return { kind: result };
    for (const ledger of scope.ledgers.values()) ledger.stored();
    // A window of the least length is tried again in the next pull, not at once.
    return isAtLeast && gaps.length === 0 ? endOfList(failure) : null;
  }
}

/** Where the slowest service stands: all of them are listed together. */
function cursorOf({ ledgers }: Scope): WindowCursor {
  const cursors = [...ledgers.values()].map(({ cursor }) => cursor);
  return {
    lowMs: Math.min(...cursors.map(({ lowMs }) => lowMs)),
    floorMs: Math.min(...cursors.map(({ floorMs }) => floorMs)),
    sizeMs: Math.min(...cursors.map(({ sizeMs }) => sizeMs)),
    failureCount: Math.max(...cursors.map(({ failureCount }) => failureCount)),
  };
}
