// The whole data path on one page. Read this first.
//
//   service ──▶ collect ──page──▶ decode ──▶ derive ──▶ encode ──batch──▶ queue ──▶ send ──▶ back end
//                                   └──────── SeriesTable ────────┘
//
// A tick scrapes its due targets concurrently and translates each page as it arrives. Pages that
// are ready are committed to the queue together: points, state and account in one transaction. A
// slow or failed target delays nobody: the tick's other pages are committed without it. Sending
// runs independently (send/).

import { setImmediate as nextTurn } from 'node:timers/promises';
import { bug } from './errors.ts';
import { Semaphore } from './lib/semaphore.ts';
import { BodyBufferPool } from './lib/body-buffer.ts';
import type { Clock } from './lib/clock.ts';
import { collectGarbage, compileForWork, makeRoomForReads } from './lib/footprint.ts';
import type { ThrottledLog } from './lib/log.ts';
import type { Batch } from './model/batch.ts';
import type { Page, PageReport, ScrapeTime } from './model/page.ts';
import type { SeriesTable } from './model/series-table.ts';
import { inTurns, type Schedule } from './pipeline/collect/schedule.ts';
import { type DecodeRules, Decoding } from './pipeline/decode/decode.ts';
import { Replay } from './pipeline/decode/replay.ts';
import { derive, type DeriveReport } from './pipeline/derive/derive.ts';
import type { DeriveOptions } from './pipeline/derive/options.ts';
import { saveStarts } from './pipeline/derive/state.ts';
import { STATE } from './pipeline/derive/state-form.ts';
import type { AttributeLimit } from './pipeline/encode/attribute-limit.ts';
import { type EncodeOptions, encodePage } from './pipeline/encode/encode.ts';
import { WireWriter } from './pipeline/encode/wire.ts';
import { Gather } from './pipeline/queue/gather.ts';
import type { StateChange, Store } from './pipeline/queue/commit.ts';

/** Lines that decode reads in one step: a few milliseconds when every series is new. */
const SLICE_LINES = 256;
/** Steps run this long before they yield to the event loop. */
const TURN_MS = 10;

/** The kind of the state that has the time of a target's last page, in milliseconds. */
export const PAGE_TIME = 'page-time';

/** The reasons for which a page is refused for its size. */
const OVERSIZED: ReadonlySet<string> = new Set(['limit_memory', 'limit_samples', 'too_large']);

/** A page larger than this fraction (1/N) of the memory limit for pages is large. */
const LARGE_SHARE = 64;

/** How one target's pages are translated; the table is the target's memory between pages. */
export interface Translation {
  readonly table: SeriesTable;
  /** Whether the table's state is saved for the next process. */
  readonly isKept: boolean;
  readonly derive: DeriveOptions;
  readonly encode: EncodeOptions;
}

/** The same rules for pages of the past (decode/history-pages.ts), whose samples have times of their own. */
export function pastOf({ derive: rules, encode, ...rest }: Translation): Translation {
  return {
    ...rest,
    derive: { ...rules, honorTimestamps: true, isPast: true },
    encode: { ...encode, isPast: true },
  };
}

/** One page after translation: as read, as derived, as sent. */
export interface Translated {
  /** null when there was no page. */
  readonly page: PageReport | null;
  /** How the page was read: in full, or only where it differs from the previous one. */
  readonly path: 'full' | 'repeating' | null;
  /** '' after a usable page; else why there is none. */
  readonly reason: string;
  readonly derived: DeriveReport;
  /** The payload lives in the writer's memory or the table's: valid until the next page. */
  readonly batch: Batch;
  /** The starts for the next process, once this batch is queued; null where they have not changed, or none are kept. */
  readonly state: Buffer | null;
}

/** What translation gets from a scrape: the page, or why there is none. */
export type Scraped =
  | { readonly kind: 'page'; readonly page: Page }
  | (ScrapeTime & { readonly kind: 'failure'; readonly reason: string });

/** Decodes, derives and encodes one scrape, good or failed; yields between slices. */
export function* translate(
  translation: Translation,
  scrape: Scraped,
  writer: WireWriter,
): Generator<void, Translated> {
  const { table } = translation;
  const { limits } = translation.derive;
  let page: PageReport | null = null;
  let path: Translated['path'] = null;
  let reason = '';
  const bodyBytes = scrape.kind === 'page' ? scrape.page.bytes.length : 0;
  const isLarge = bodyBytes * LARGE_SHARE > limits.memoryBytes;
  if (scrape.kind === 'page') {
    const { layout } = table;
    page = yield* decodePage(scrape.page, table, translation.derive);
    if (isLarge) collectGarbage('regular');
    yield;
    path = layout !== null && layout === table.layout ? 'repeating' : 'full';
    if (page.limit !== null) reason = `limit_${page.limit}`;
  } else reason = scrape.reason;
  const time: ScrapeTime = scrape.kind === 'page' ? scrape.page : scrape;
  const report = reason === '' ? page : null;
  const derived = yield* derive(table, { ...time, bodyBytes, report, reason }, translation.derive);
  const batch = yield* encodePage(table, translation.encode, writer, time.startedAtMs);
  const state = translation.isKept ? yield* saveStarts(table) : null;
  translation.derive.budget.measure(table);
  if (OVERSIZED.has(reason)) collectGarbage('last-resort');
  else if (isLarge) collectGarbage('regular');
  return { page, path, reason, derived, batch, state };
}

/** Reads a page: replays the last layout where the page repeats it, else decodes in full. */
function* decodePage(
  page: Page,
  table: SeriesTable,
  rules: DecodeRules & Pick<DeriveOptions, 'budget'>,
): Generator<void, PageReport> {
  if (table.layout !== null && table.layout.rows.length <= rules.limits.samples) {
    const replay = new Replay(page, table, table.layout);
    let state = replay.step(SLICE_LINES);
    for (; state === 'going'; state = replay.step(SLICE_LINES)) yield;
    if (state === 'done') return replay.report();
    table.layoutMisses++;
  }
  const decoding = new Decoding(page, table, rules, rules.budget.bytesFor(table));
  while (!decoding.step(SLICE_LINES)) yield;
  return decoding.report;
}

/**
 * The part of a scraper (collect/scrape.ts) that the pipeline uses; its results may have more fields. An import of the
 * class would make this file depend on the whole client of the service.
 */
export interface PageSource<Result extends Scraped> {
  /** Never rejects. An abort ends it as a failure. */
  scrape(signal?: AbortSignal): Promise<Result>;
  /** Called once the page has been used: its memory may be reused. */
  release(): void;
}

/** A target in the running pipeline. */
export interface PipelineTarget<Result extends Scraped> {
  /** The key of its saved state. */
  readonly id: string;
  readonly scraper: PageSource<Result>;
  readonly translation: Translation;
  /** Pages of the time before this one, to be translated first; null where the past is not wanted. */
  readonly past: ((page: Page, giveUp: AbortSignal) => AsyncIterable<Page>) | null;
  /** Called after every scrape, for counters and the status page. */
  onTranslated(scrape: Result, translated: Translated): void;
}

export interface PipelineOptions<Result extends Scraped> {
  readonly targets: readonly PipelineTarget<Result>[];
  readonly schedule: Schedule;
  readonly queue: Store;
  readonly clock: Clock;
  readonly log: ThrottledLog;
  readonly attributeLimit: AttributeLimit | null;
  /** Ends scrapes that are under way. Their failures say nothing about the service, and are dropped. */
  readonly giveUp: AbortSignal;
}

export class Pipeline<Result extends Scraped> {
  readonly #options: PipelineOptions<Result>;
  readonly #writer: WireWriter;
  readonly #payloads = new BodyBufferPool();
  /** Translates one page at a time: the work is CPU-bound and shares the writer. */
  readonly #translating = new Semaphore(1);
  /** By target id: the gather that holds the target's last page, until that page is committed. */
  readonly #gathers = new Map<string, Gather>();

  constructor(options: PipelineOptions<Result>) {
    this.#options = options;
    this.#writer = new WireWriter(undefined, options.attributeLimit);
  }

  /** Runs ticks until `stop`; scrapes already under way still reach the queue, unless they are given up. */
  async run(stop: AbortSignal): Promise<void> {
    const { schedule, clock } = this.#options;
    const ticks = new Set<Promise<void>>();
    while (!stop.aborted) {
      const due = schedule.takeDue(clock.monotonicMs());
      if (due.length > 0) {
        const tick = this.tick(due).finally(() => ticks.delete(tick));
        ticks.add(tick);
      }
      await clock.sleep(schedule.nextDueMs() - clock.monotonicMs(), stop);
    }
    await Promise.all(ticks);
  }

  /**
   * Scrapes the targets with these indexes once and commits the results; a failing service is no
   * error.
   */
  async tick(indexes: readonly number[]): Promise<void> {
    const { clock, schedule, targets, giveUp } = this.#options;
    const gather = new Gather({ ...this.#options, buffers: this.#payloads });
    let readBytes = 0;
    const scrapeOne = async (index: number): Promise<void> => {
      const target = targets[index] ?? bug(`no target ${index}`);
      const scrape = await target.scraper.scrape(giveUp);
      if (scrape.kind === 'page') {
        readBytes += scrape.page.wireBytes;
        compileForWork(scrape.page.bytes.length);
      }
      if (scrape.kind === 'page') await this.#fill(target, scrape.page, gather);
      if (scrape.kind === 'page' || !giveUp.aborted) {
        const translated = await this.#translate(target, scrape, gather);
        target.onTranslated(scrape, translated);
      }
      target.scraper.release();
      schedule.finish(index);
    };
    await inTurns(indexes, clock, scrapeOne);
    await gather.flush();
    for (const [id, one] of this.#gathers) if (one === gather) this.#gathers.delete(id);
    makeRoomForReads(readBytes);
  }

  /** Translates the stored pages of the time before this one. */
  async #fill(target: PipelineTarget<Result>, page: Page, gather: Gather): Promise<void> {
    const { past, translation } = target;
    if (past === null) return;
    const then = { ...target, translation: pastOf(translation) };
    for await (const before of past(page, this.#options.giveUp)) {
      await this.#translate(then, { kind: 'page', page: before }, gather);
      // Points of today are not written over those of the past: their metadata differs.
      translation.table.template = null;
    }
  }

  /** Translates one page at a time, and gathers its payload before the writer is reused. */
  async #translate(
    target: PipelineTarget<Result>,
    scrape: Scraped,
    gather: Gather,
  ): Promise<Translated> {
    return this.#translating.run(async () => {
      const { clock } = this.#options;
      const steps = translate(target.translation, scrape, this.#writer);
      let turnMs = clock.monotonicMs();
      let step = steps.next();
      while (step.done !== true) {
        if (clock.monotonicMs() - turnMs >= TURN_MS) {
          await nextTurn();
          turnMs = clock.monotonicMs();
        }
        step = steps.next();
      }
      const { batch, derived, state, reason } = step.value;
      // The target's previous page may still wait in an earlier tick's gather.
      const before = this.#gathers.get(target.id);
      if (before !== gather) await before?.flush();
      this.#gathers.set(target.id, gather);
      const changes: StateChange[] =
        state === null ? [] : [{ kind: STATE, key: target.id, blob: state }];
      if (target.past !== null && scrape.kind === 'page' && reason === '') {
        const blob = Buffer.from(String(scrape.page.startedAtMs));
        changes.push({ kind: PAGE_TIME, key: target.id, blob });
      }
      await gather.add({ batch, reads: derived.reads, state: changes });
      return step.value;
    });
  }
}
