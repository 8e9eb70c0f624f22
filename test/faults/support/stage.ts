// A source, a sink, a ledger between them, and the program to run: the set-up of most tests of this suite.

import { expect } from 'vitest';
import { ADDED_SERIES } from '../../support/otlp-points.ts';
import { type Running, until } from '../../support/program.ts';
import { WireGate, type WireSanityOptions } from '../../support/wire-sanity.ts';
import { Bridge, WAIT_MS } from './bridge.ts';
import { judge, type Figures, type Judgement } from './figures.ts';
import { Ledger, type LedgerOptions } from './ledger.ts';
import { Sink } from './sink.ts';
import { Source, type SourceOptions } from './source.ts';

export interface StageOptions extends LedgerOptions {
  readonly name: string;
  readonly source?: Partial<SourceOptions>;
  /** Changes to the configuration: whole blocks. `otlp` changes single keys; its endpoint is the sink. */
  readonly changes?: Readonly<Record<string, unknown>>;
  readonly otlp?: Readonly<Record<string, unknown>>;
  /** The directory of the queue; a temporary one by default. */
  readonly directory?: string;
  /** What the check of requests allows, in addition to repeated requests. */
  readonly sanity?: WireSanityOptions;
}

export class Stage {
  readonly name: string;
  readonly source: Source;
  readonly sink: Sink;
  readonly ledger: Ledger;
  readonly bridge: Bridge;

  private constructor(options: StageOptions, source: Source, sink: Sink) {
    const { name, directory, changes, otlp } = options;
    const { services } = source.options;
    this.name = name;
    this.source = source;
    this.sink = sink;
    this.ledger = new Ledger(source, options);
    sink.onTaken = points => this.ledger.take(points);
    this.bridge = new Bridge({
      sourceUrl: source.url,
      services,
      onStart: ({ number }) => (source.life = number),
      ...(directory === undefined ? {} : { directory }),
      changes: { ...changes, otlp: { endpoint: sink.url, ...otlp } },
    });
  }

  /** Pages with times that change with every scrape, of two services, unless the options say otherwise. */
  static async create(options: StageOptions): Promise<Stage> {
    const source = await Source.start({
      services: ['dbfaults01', 'dbfaults02'],
      width: 10,
      isStamped: true,
      refreshMs: 300,
      ...options.source,
    });
    const gate = new WireGate({ mayResend: true, ...options.sanity });
    return new Stage(options, source, await Sink.start(gate));
  }

  /** The number of points that one scrape sends: of all services, including the bridge's own points. */
  get pagePoints(): number {
    const { services } = this.source.options;
    return services.length * (this.source.series.length + ADDED_SERIES.size);
  }

  /** Starts a process, and waits until it reports that it has started. */
  async started(): Promise<Running> {
    const process = this.bridge.start();
    await process.ready();
    return process;
  }

  /** Waits for `count` more requests to the source. */
  async scrapes(count: number): Promise<void> {
    const goal = this.source.requestCount + count;
    await this.until(`${String(count)} scrapes`, () => this.source.requestCount >= goal);
  }

  /** Waits until the sink has read `count` more requests. */
  async deliveries(count: number): Promise<void> {
    const goal = this.sink.requests.length + count;
    await this.until(`${String(count)} requests`, () => this.sink.requests.length >= goal);
  }

  /** Waits until `check` is true; throws when the program has ended. */
  async until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
    const checkAlive = (): boolean | Promise<boolean> => {
      this.bridge.expectAlive();
      return check();
    };
    await until(`${this.name}: ${what}`, checkAlive, WAIT_MS);
  }

  /** Waits until all pages so far are in the file: the program stores a page before it scrapes twice more. */
  stored(): Promise<void> {
    return this.scrapes(3);
  }

  async kill(process: Running): Promise<void> {
    await process.kill();
    await this.#noteUnsettled(process);
  }

  async stop(process: Running): Promise<void> {
    await process.stop();
    await this.#noteUnsettled(process);
  }

  /** Stops the program. If it could not deliver everything on a busy machine, another process does. */
  async end(process: Running): Promise<void> {
    await this.stop(process);
    if (this.bridge.account().stored > 0) await this.bridge.finish();
  }

  /** Points that the sink took but that the account does not know will come again: one batch at most. */
  async #noteUnsettled(process: Running): Promise<void> {
    const { source, sink, ledger, bridge } = this;
    await source.caughtUp();
    await sink.caughtUp();
    const unsettled = ledger.received - bridge.account().accepted;
    const batch = Math.max(this.pagePoints, ...sink.requests.map(({ points }) => points.length));
    expect(unsettled, 'points that will come twice').toBeLessThanOrEqual(batch);
    if (unsettled > 0) sink.noteUnsettled(this.bridge.numberOf(process));
  }

  /** Judges everything so far; the program must have ended. */
  judge(more: Partial<Judgement> = {}): Figures {
    const { name, ledger, bridge, sink } = this;
    return judge({
      name,
      ledger,
      bridge,
      lostAnswers: sink.lostAnswers,
      batchPoints: this.pagePoints,
      ...more,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bridge[Symbol.asyncDispose]();
    await this.source.close();
    await this.sink.close();
  }
}
