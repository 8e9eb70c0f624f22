// A service with known samples: the value and the time of a series on page k are functions of k, and every served page is
// noted. Stamped pages have their own time and last for `refreshMs`, as the service's pages do. Other pages are new with
// every request, and their samples get the time of the scrape.

import { withoutInventory } from '../../../bench/without-inventory.ts';
import { listen, type LoopbackServer } from '../../../src/simulator/loopback-server.ts';
import { caughtUp } from './connections.ts';
import type { Kind, Reading, Series, ServedPage, ServedSource } from './served-source.ts';

export interface SourceOptions {
  readonly services: readonly string[];
  /** How many series there are of each kind, per service. */
  readonly width: number;
  readonly isStamped: boolean;
  readonly refreshMs: number;
}

const HISTOGRAM_SAMPLES = 5;

export class Source implements ServedSource {
  readonly options: SourceOptions;
  readonly series: readonly Series[];
  /** When the simulated server was started. */
  readonly bootMs: number;
  readonly pages: Map<number, ServedPage> = new Map();
  /** Every page that a process got, in order. */
  readonly readings: Reading[] = [];
  /** The number of the process that is running. */
  life = 0;
  /** The number of served pages. */
  requestCount = 0;
  /** While true, requests are answered with 503. */
  isDown = false;
  readonly #originMs = Date.now();
  #server!: LoopbackServer;

  private constructor(options: SourceOptions) {
    this.options = options;
    this.series = seriesOf(options.width);
    this.bootMs = this.#originMs - 12_345_678;
  }

  static async start(options: SourceOptions): Promise<Source> {
    const source = new Source(options);
    const serve = withoutInventory((_request, response) => {
      response.setHeader('content-type', 'text/plain; version=0.0.4');
      if (source.isDown) response.writeHead(503).end();
      else response.end(source.#serve());
    });
    source.#server = await listen({}, serve);
    return source;
  }

  get url(): string {
    return this.#server.url;
  }

  /** Waits until all requests of ended processes are answered. */
  caughtUp(): Promise<void> {
    return caughtUp(this.#server);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  attributesOf({ attributes }: Series): string {
    return attributes;
  }

  /** The value of a series on a page; for a histogram, its count. */
  valueAt({ kind, index }: Series, page: ServedPage): number {
    const { number, timeMs } = page;
    if (kind === 'uptime') return Math.floor((timeMs - this.bootMs) / 1000);
    if (kind === 'gauge') return number + index / 1024;
    if (kind === 'histogram') return 6 * number;
    return 1000 * index + number * (index + 1);
  }

  #serve(): Buffer {
    const { isStamped, refreshMs } = this.options;
    const nowMs = Date.now();
    this.requestCount++;
    const number = isStamped
      ? 1 + Math.floor((nowMs - this.#originMs) / refreshMs)
      : this.requestCount;
    const timeMs = isStamped ? this.#originMs + number * refreshMs - refreshMs : nowMs;
    const page = this.pages.get(number) ?? { number, timeMs };
    this.pages.set(number, page);
    this.readings.push({ life: this.life, page: number, atMs: nowMs });
    return Buffer.from(this.#render(page));
  }

  #render(page: ServedPage): string {
    const { services, isStamped } = this.options;
    const stamp = isStamped ? ` ${String(page.timeMs)}` : '';
    const lines: string[] = [];
    let family = '';
    for (const series of this.series) {
      if (series.metric !== family) lines.push(`# TYPE ${series.metric} ${TYPES[series.kind]}`);
      family = series.metric;
      for (const service of services) {
        const value = this.valueAt(series, page);
        if (series.kind === 'histogram')
          lines.push(...histogramLines(series, service, value, stamp));
        else lines.push(`${series.metric}{${labelsOf(series, service)}} ${String(value)}${stamp}`);
      }
    }
    return `${lines.join('\n')}\n`;
  }
}

const TYPES: Readonly<Record<Kind, string>> = {
  counter: 'counter',
  gauge: 'gauge',
  uptime: 'untyped',
  histogram: 'histogram',
};

function seriesOf(width: number): readonly Series[] {
  const all: Omit<Series, 'index' | 'samples'>[] = [
    { metric: UPTIME, attributes: 'server_name=one', kind: 'uptime', isDated: false },
  ];
  for (let i = 0; i < width; i++)
    all.push({
      metric: 'engine_global_status_commands_total',
      attributes: `command=c${String(i)},server_name=one`,
      kind: 'counter',
      isDated: true,
    });
  for (let i = 0; i < width; i++)
    all.push({
      metric: 'app_jobs_total',
      attributes: `task=t${String(i)}`,
      kind: 'counter',
      isDated: false,
    });
  for (let i = 0; i < width; i++)
    all.push({ metric: 'app_level', attributes: `n=${String(i)}`, kind: 'gauge', isDated: false });
  all.push({ metric: 'app_wait_seconds', attributes: '', kind: 'histogram', isDated: false });
  return all.map((series, index) => ({
    ...series,
    index,
    samples: series.kind === 'histogram' ? HISTOGRAM_SAMPLES : 1,
  }));
}

const UPTIME = 'engine_global_status_uptime';

function labelsOf({ attributes }: Series, service: string): string {
  const labels = attributes.split(',').filter(Boolean);
  const quoted = labels.map(label => label.replace('=', '="').concat('"'));
  return [`namespace="${service}"`, ...quoted].join(',');
}

/** A sixth of the observations is up to 0.1, half of them up to 1; the sum is twice the count. */
function histogramLines(
  { metric }: Series,
  service: string,
  count: number,
  stamp: string,
): string[] {
  const namespace = `namespace="${service}"`;
  const bucket = (le: string, value: number): string =>
    `${metric}_bucket{${namespace},le="${le}"} ${String(value)}${stamp}`;
  return [
    bucket('0.1', count / 6),
    bucket('1', count / 2),
    bucket('+Inf', count),
    `${metric}_sum{${namespace}} ${String(2 * count)}${stamp}`,
    `${metric}_count{${namespace}} ${String(count)}${stamp}`,
  ];
}

/** The text of a histogram point with this count, as in otlp-points.ts. */
export function distributionOf(count: number): string {
  const sum = String(2 * count);
  const buckets = [count / 6, count / 2 - count / 6, count / 2].map(String);
  return `count=${String(count)} sum=${sum} le0.1:${buckets[0] ?? ''} le1:${buckets[1] ?? ''} inf:${buckets[2] ?? ''}`;
}
