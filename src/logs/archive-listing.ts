// Lists the archives of a range of days, window by window, each once more when it changed while it was read. In:
// the days. Out: the archives that are ours, once each, and which days were listed to their end. A window of
// several days that cannot be finished is cut in half; a day that cannot be is left out and said.

import { type Descriptor, readDescriptor } from './descriptor.ts';
import { type ListFailure, listPages } from './list.ts';
import { partitionKey } from './partition.ts';
import type { PullContext, PullRun } from './pull-context.ts';
import { DAY_MS, dayOf, type Span } from './windows.ts';

export interface ArchiveListing {
  readonly descriptors: readonly Descriptor[];
  /** Days that could not be listed, though the service answers. */
  readonly failedDays: ReadonlySet<number>;
  /** Why it ended early; the days from `endMs` on were not listed then. */
  readonly failure: ListFailure | null;
  readonly endMs: number;
}

/** No list holds more archives than this: what comes after is left for the next window. */
const DESCRIPTORS_MAX = 100_000;

export class ArchiveLister {
  readonly #context: PullContext;
  readonly #run: PullRun;
  readonly #found = new Map<string, Descriptor>();
  readonly #failedDays = new Set<number>();

  constructor(context: PullContext, run: PullRun) {
    this.#context = context;
    this.#run = run;
  }

  /** `toMs` is frozen: the same for every page. Days are listed in ascending order. */
  async list(fromDayMs: number, toMs: number): Promise<ArchiveListing> {
    const { window } = this.#context.options.config;
    const longestDays = Math.max(1, Math.floor(window.maxMs / DAY_MS));
    let days = longestDays;
    let dayMs = fromDayMs;
    let failure: ListFailure | null = null;
    while (dayMs <= dayOf(toMs)) {
      const span = { fromMs: dayMs, toMs: Math.min(dayMs + days * DAY_MS, toMs) };
      failure = await this.#listWindow(span);
      if (failure === null) {
        dayMs += days * DAY_MS;
        days = Math.min(longestDays, days * 2);
        continue;
      }
      if (!isOfWindow(failure)) break;
      if (days > 1) {
        days = Math.floor(days / 2);
        continue;
      }
      this.#failedDays.add(dayMs);
      dayMs += DAY_MS;
      failure = null;
    }
    const descriptors = [...this.#found.values()];
    return { descriptors, failedDays: this.#failedDays, failure, endMs: dayMs };
  }

  async #listWindow(span: Span): Promise<ListFailure | null> {
    const { types } = this.#context.options.config;
    for (const type of types.length === 0 ? [null] : types) {
      let end = await this.#listOnce(span, type);
      if (end.ok && !end.isStable) end = await this.#listOnce(span, type);
      if (!end.ok) return end.failure;
    }
    return null;
  }

  async #listOnce(
    span: Span,
    type: string | null,
  ): Promise<
    { readonly ok: true; readonly isStable: boolean } | { ok: false; failure: ListFailure }
  > {
    const { api } = this.#context.options;
    const pages = listPages(api, { ...span, type }, this.#context.ask(this.#run));
    for (;;) {
      const page = await pages.next();
      if (page.done !== true) {
        for (const item of page.value) this.#take(item, span);
        continue;
      }
      if (page.value.ok) this.#context.noteServerTime(page.value.serverNowMs);
      return page.value;
    }
  }

  #take(item: unknown, span: Span): void {
    const found = readDescriptor(item, this.#context.items, span);
    if (typeof found === 'string') return this.#context.options.meter.refused(found);
    const key = `${partitionKey(found.partition)} ${found.id}`;
    if (this.#found.size < DESCRIPTORS_MAX || this.#found.has(key)) this.#found.set(key, found);
    else this.#context.options.meter.refused('too_many');
  }
}

/** True when less at once may help: too many pages, an answer that is too large or takes too long. */
export function isOfWindow(failure: ListFailure): boolean {
  if (failure.kind === 'list') return true;
  return failure.failure.reason === 'too_large' || failure.failure.reason === 'timeout';
}
