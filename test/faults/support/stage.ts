// A source, a sink, a ledger between them, and the program to run: what most tests of this suite begin with.

import { Bridge } from './bridge.ts';
import { judge, type Figures, type Judgement } from './figures.ts';
import { Ledger, type LedgerOptions } from './ledger.ts';
import { Sink } from './sink.ts';
import { Source, type SourceOptions } from './source.ts';

export interface StageOptions extends LedgerOptions {
  readonly name: string;
  readonly source?: Partial<SourceOptions>;
  /** What differs in the configuration: whole blocks, but for `otlp`, whose endpoint is the sink. */
  readonly changes?: Readonly<Record<string, unknown>>;
  readonly otlp?: Readonly<Record<string, unknown>>;
  /** The queue's; a temporary one where it is not given. */
  readonly directory?: string;
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
      ...(directory === undefined ? {} : { directory }),
      changes: { ...changes, otlp: { endpoint: sink.url, timeout: '1s', ...otlp } },
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
    return new Stage(options, source, await Sink.start());
  }

  /** Points of one scrape as they are sent: of all services, with those that the bridge makes. */
  get pagePoints(): number {
    const { services } = this.source.options;
    return services.length * (this.source.series.length + OWN_SERIES);
  }

  /** Judges everything so far; the program must have ended. */
  judge(more: Partial<Judgement> = {}): Figures {
    const { name, ledger, bridge, sink } = this;
    return judge({ name, ledger, bridge, lostAnswers: sink.lostAnswers, ...more });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bridge[Symbol.asyncDispose]();
    await this.sink.close();
    await this.source.close();
  }
}

/** `up` and what else the bridge says of each scrape and service. */
const OWN_SERIES = 6;

export function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}
