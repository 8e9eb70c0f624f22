// The surroundings of one measured program: its pages, its sink, and whether everything that was served has arrived.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Task } from './contenders.ts';
import { serviceIds } from './corpus/corpora.ts';
import { findLosses } from './corpus/series-set.ts';
import { PageServer } from './page-server.ts';
import type { Scenario } from './scenarios.ts';
import { SinkProcess } from './sink.ts';

/** After this long without an arrival, the missing samples count as lost. */
const QUIET_MS = 15_000;
const LOOK_MS = 100;

export class Stage implements AsyncDisposable {
  readonly task: Task;
  readonly pages: PageServer;
  readonly sink: SinkProcess;

  private constructor(scenario: Scenario, pages: PageServer, sink: SinkProcess) {
    this.pages = pages;
    this.sink = sink;
    const { origins } = pages;
    this.task = {
      origins,
      services: origins.map((_, address) => serviceIds(scenario, address)),
      intervalMs: scenario.intervalMs,
      hasLogs: scenario.hasLogs,
      sinkUrl: sink.url,
    };
  }

  static async open(scenario: Scenario): Promise<Stage> {
    const pages = await PageServer.start(scenario);
    return new Stage(scenario, pages, await SinkProcess.start(scenario.corpus !== 'captured'));
  }

  /** Waits until every address has been polled `count` times; throws after `withinMs`. */
  async polled(count: number, withinMs: number): Promise<void> {
    const isDone = (): boolean => this.pages.polls.every(polls => polls >= count);
    if (!(await comesTrue(isDone, withinMs)))
      throw new Error(`not every page was asked for ${count} times`);
  }

  /** Waits for the first sample, and returns the wall-clock time at which the sink accepted it. */
  async firstAccepted(withinMs: number): Promise<number> {
    const hasCome = async (): Promise<boolean> =>
      (await this.sink.ask('counts')).firstSampleAtMs > 0;
    if (!(await comesTrue(hasCome, withinMs))) throw new Error('nothing was sent');
    return (await this.sink.ask('counts')).firstSampleAtMs;
  }

  /** Serves no more pages, waits for the samples on their way, and says what is missing: [] when everything arrived. */
  async settle({ isRounded }: { readonly isRounded: boolean }): Promise<readonly string[]> {
    this.pages.isPaused = true;
    const served = await this.pages.served();
    for (;;) {
      const { samples } = await this.sink.ask('counts');
      const isMore = async (): Promise<boolean> =>
        (await this.sink.ask('counts')).samples > samples;
      if (samples >= this.pages.samples || !(await comesTrue(isMore, QUIET_MS))) break;
    }
    const { failures } = await this.sink.ask('counts');
    return [...failures, ...findLosses(served, await this.sink.ask('arrived'), isRounded)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pages[Symbol.asyncDispose]();
    await this.sink[Symbol.asyncDispose]();
  }
}

/** Checks `is` until it is true, or until the time is over: then false. */
async function comesTrue(is: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const endMs = Date.now() + withinMs;
  for (;;) {
    if (await is()) return true;
    if (Date.now() > endMs) return false;
    await sleep(LOOK_MS);
  }
}
