// What stands around one measured program: the pages, the sink, and what has been served and received so far.

import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { checkoutFolder } from '../test/real/support/folder.ts';
import { type Child, startChild } from './child.ts';
import type { Contender, RunningContender, Task } from './contenders/contender.ts';
import { serviceIds } from './corpus/corpora.ts';
import type { PageServerCalls, PageServerOptions, Poll } from './page-server.ts';
import type { SinkCalls, SinkCounts } from './sink.ts';
import { findLosses, sumPolls } from './verify.ts';

const CA_FILE = join(checkoutFolder, 'test/support/tls/ca.pem');
/** How long nothing may arrive before what is missing counts as lost. */
const QUIET_MS = 15_000;
const LOOK_MS = 100;

export class Stage implements AsyncDisposable {
  readonly task: Task;
  readonly samplesPerPage: number;
  /** All polls that were served. */
  readonly polls: Poll[] = [];
  pageBytes = 0;
  readonly #options: PageServerOptions;
  readonly #pages: Child<PageServerCalls>;
  readonly #sink: Child<SinkCalls>;

  private constructor(
    options: PageServerOptions,
    children: { pages: Child<PageServerCalls>; sink: Child<SinkCalls> },
    made: { task: Task; samplesPerPage: number },
  ) {
    this.#options = options;
    this.#pages = children.pages;
    this.#sink = children.sink;
    this.task = made.task;
    this.samplesPerPage = made.samplesPerPage;
  }

  static async open(options: PageServerOptions, intervalMs: number): Promise<Stage> {
    const pages = startChild<PageServerCalls>('./page-server.ts', ['start', 'take', 'pause']);
    const sink = startChild<SinkCalls>('./sink.ts', ['listen', 'setOpen', 'counts', 'report']);
    const { origins, samplesPerPage } = await pages.calls.start(options);
    const sinkUrl = await sink.calls.listen();
    const task: Task = {
      origins,
      services: origins.map((_, address) => serviceIds(options, address)),
      intervalMs,
      hasLogs: options.hasLogs,
      caFile: options.isRemote ? CA_FILE : null,
      sinkUrl,
    };
    return new Stage(options, { pages, sink }, { task, samplesPerPage });
  }

  get pids(): readonly number[] {
    return [this.#pages.pid, this.#sink.pid];
  }

  openSink(isOpen: boolean): Promise<void> {
    return this.#sink.calls.setOpen(isOpen);
  }

  counts(): Promise<SinkCounts> {
    return this.#sink.calls.counts();
  }

  pausePages(isPaused: boolean): Promise<void> {
    return this.#pages.calls.pause(isPaused);
  }

  /** Takes note of what has been served up to now. */
  async look(): Promise<void> {
    const { polls, wireBytes } = await this.#pages.calls.take();
    for (const poll of polls) this.polls.push(poll);
    this.pageBytes += wireBytes;
  }

  /** Waits until every address was polled so often. */
  async polled(count: number, withinMs: number): Promise<void> {
    const endMs = Date.now() + withinMs;
    for (;;) {
      await this.look();
      const counts = new Map<number, number>();
      for (const { address } of this.polls) counts.set(address, (counts.get(address) ?? 0) + 1);
      const isDone = this.task.origins.every((_, address) => (counts.get(address) ?? 0) >= count);
      if (isDone) return;
      if (Date.now() > endMs) throw new Error(`not every page was asked for ${count} times`);
      await sleep(LOOK_MS);
    }
  }

  /** Samples that were served and have not arrived yet. */
  async behind(): Promise<number> {
    await this.look();
    return sumPolls(this.polls).samples - (await this.counts()).samples;
  }

  /** Waits until little is on its way, or as long as it may. */
  async caughtUp(samplesMax: number, withinMs: number): Promise<void> {
    const endMs = Date.now() + withinMs;
    while ((await this.behind()) > samplesMax && Date.now() < endMs) await sleep(LOOK_MS);
  }

  /** When the sink accepted the first sample, by the wall clock; waits for it. */
  async firstAccepted(withinMs: number): Promise<number> {
    const endMs = Date.now() + withinMs;
    for (;;) {
      const { firstSampleAtMs } = await this.counts();
      if (firstSampleAtMs > 0) return firstSampleAtMs;
      if (Date.now() > endMs) throw new Error('nothing was sent');
      await sleep(LOOK_MS);
    }
  }

  /** Serves no more, waits for what is on its way, and says what is missing: [] when everything arrived. */
  async settle(contender: Pick<Contender, 'isRounded'>): Promise<readonly string[]> {
    await this.pausePages(true);
    await this.look();
    await this.arrived();
    const { failures } = await this.counts();
    const received = await this.#sink.calls.report();
    const { corpus } = this.#options;
    const { isRounded } = contender;
    return [...failures, ...findLosses({ polls: this.polls, received, corpus, isRounded })];
  }

  /** Waits until as many samples have arrived as were served, or nothing comes any more. */
  async arrived(): Promise<void> {
    const served = sumPolls(this.polls).samples;
    let lastSamples = -1;
    let lastMs = Date.now();
    for (;;) {
      const { samples } = await this.counts();
      if (samples >= served) return;
      if (samples !== lastSamples) lastMs = Date.now();
      lastSamples = samples;
      if (Date.now() - lastMs > QUIET_MS) return;
      await sleep(LOOK_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pages[Symbol.asyncDispose]();
    await this.#sink[Symbol.asyncDispose]();
  }
}

/** Runs something with a contender, and stops that whatever happens. */
export async function withContender<T>(
  contender: Contender,
  task: Task,
  work: (running: RunningContender) => Promise<T>,
): Promise<T> {
  const running = await contender.start(task);
  try {
    return await work(running);
  } finally {
    await running.stop();
  }
}
