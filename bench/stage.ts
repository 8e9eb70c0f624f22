// The surroundings of one measured program: its pages, its sink, and a record of what has been served and received.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, startChild } from './child.ts';
import type { Contender, RunningContender, Task } from './contenders/contender.ts';
import { serviceIds } from './corpus/corpora.ts';
import type { PageServerCalls, Poll } from './page-server.ts';
import type { Scenario } from './scenarios.ts';
import type { SinkCalls, SinkCounts } from './sink.ts';
import { findLosses, sumPolls } from './verify.ts';

/** After this long without an arrival, the missing samples count as lost. */
const QUIET_MS = 15_000;
const LOOK_MS = 100;

export class Stage implements AsyncDisposable {
  readonly task: Task;
  readonly samplesPerPage: number;
  /** All polls that were served. */
  readonly polls: Poll[] = [];
  readonly #scenario: Scenario;
  readonly #pages: Child<PageServerCalls>;
  readonly #sink: Child<SinkCalls>;

  private constructor(
    scenario: Scenario,
    children: { pages: Child<PageServerCalls>; sink: Child<SinkCalls> },
    made: { task: Task; samplesPerPage: number },
  ) {
    this.#scenario = scenario;
    this.#pages = children.pages;
    this.#sink = children.sink;
    this.task = made.task;
    this.samplesPerPage = made.samplesPerPage;
  }

  static async open(scenario: Scenario): Promise<Stage> {
    const pages = startChild<PageServerCalls>('./page-server.ts', ['start', 'take', 'pause']);
    const sink = startChild<SinkCalls>('./sink.ts', ['listen', 'setOpen', 'counts', 'report']);
    const { origins, samplesPerPage } = await pages.calls.start(scenario);
    const sinkUrl = await sink.calls.listen();
    const task: Task = {
      origins,
      services: origins.map((_, address) => serviceIds(scenario, address)),
      intervalMs: scenario.intervalMs,
      hasLogs: scenario.hasLogs,
      sinkUrl,
    };
    return new Stage(scenario, { pages, sink }, { task, samplesPerPage });
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

  /** Adds the polls served since the last look to `polls`. */
  async look(): Promise<void> {
    for (const poll of await this.#pages.calls.take()) this.polls.push(poll);
  }

  /** Waits until every address has been polled `count` times; throws after `withinMs`. */
  async polled(count: number, withinMs: number): Promise<void> {
    const isDone = async (): Promise<boolean> => {
      await this.look();
      const counts = new Map<number, number>();
      for (const { address } of this.polls) counts.set(address, (counts.get(address) ?? 0) + 1);
      return this.task.origins.every((_, address) => (counts.get(address) ?? 0) >= count);
    };
    if (!(await comesTrue(isDone, withinMs)))
      throw new Error(`not every page was asked for ${count} times`);
  }

  /** Waits for the first sample, and returns the wall-clock time at which the sink accepted it. */
  async firstAccepted(withinMs: number): Promise<number> {
    const hasCome = async (): Promise<boolean> => (await this.counts()).firstSampleAtMs > 0;
    if (!(await comesTrue(hasCome, withinMs))) throw new Error('nothing was sent');
    return (await this.counts()).firstSampleAtMs;
  }

  /** Serves no more pages, waits for the samples on their way, and says what is missing: [] when everything arrived. */
  async settle(contender: Pick<Contender, 'isRounded'>): Promise<readonly string[]> {
    await this.pausePages(true);
    await this.look();
    await this.#arrived();
    const { failures } = await this.counts();
    const received = await this.#sink.calls.report();
    const { corpus } = this.#scenario;
    const { isRounded } = contender;
    return [...failures, ...findLosses({ polls: this.polls, received, corpus, isRounded })];
  }

  /** Waits until as many samples have arrived as were served, or until no more arrive. */
  async #arrived(): Promise<void> {
    const served = sumPolls(this.polls).samples;
    for (;;) {
      const { samples } = await this.counts();
      const isMore = async (): Promise<boolean> => (await this.counts()).samples > samples;
      if (samples >= served || !(await comesTrue(isMore, QUIET_MS))) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pages[Symbol.asyncDispose]();
    await this.#sink[Symbol.asyncDispose]();
  }
}

/** Checks `is` until it is true, or until the time is over: then false. */
async function comesTrue(is: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  const endMs = Date.now() + withinMs;
  for (;;) {
    if (await is()) return true;
    if (Date.now() > endMs) return false;
    await sleep(LOOK_MS);
  }
}

/** Starts a contender, runs `work` with it, and stops the contender whatever happens. */
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
