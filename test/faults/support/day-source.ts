// A fleet's page for a long run: many services in the service's own form (explicit timestamps, five common labels). Every
// value changes with every page and is a function of page and series, so that only the time of each page must be
// remembered.

import { withoutInventory } from '../../../bench/without-inventory.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { listen, type LoopbackServer } from '../../../src/simulator/loopback-server.ts';
import type { Reading, Series, ServedPage, ServedSource } from './served-source.ts';

export interface DaySourceOptions {
  readonly services: readonly string[];
  /** The series of each service. */
  readonly series: number;
  readonly clock: Clock;
}

export class DaySource implements ServedSource {
  readonly options: DaySourceOptions & { readonly isStamped: true };
  readonly series: readonly Series[];
  /** No page has an uptime. */
  readonly bootMs = 0;
  readonly pages: Map<number, ServedPage> = new Map();
  readonly readings: Reading[] = [];
  #server!: LoopbackServer;

  private constructor(options: DaySourceOptions) {
    this.options = { ...options, isStamped: true };
    this.series = seriesOf(options.series);
  }

  static async start(options: DaySourceOptions): Promise<DaySource> {
    const source = new DaySource(options);
    const serve = withoutInventory((_request, response) => {
      response.setHeader('content-type', 'text/plain; version=0.0.4');
      response.end(source.#serve());
    });
    source.#server = await listen({}, serve);
    return source;
  }

  get url(): string {
    return this.#server.url;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server.close();
  }

  attributesOf({ attributes }: Series, serviceId: string): string {
    return `${attributes},server_name=${serviceId}-0,server_type=engine,service_name=${serviceId},topology_type=single`;
  }

  valueAt({ kind, index }: Series, { number }: ServedPage, service: number): number {
    const place = service * this.series.length + index;
    const noise = mix(place, number);
    if (kind === 'gauge') return (noise % 10 ** (1 + (index % 6))) / 10 ** (index % 4);
    const step = 1 + (mix(place, 0) % 5000);
    return number * step + (noise % step);
  }

  #serve(): string {
    const { services, clock } = this.options;
    const number = this.pages.size;
    const atMs = clock.nowMs();
    const page = { number, timeMs: Math.max(atMs, (this.pages.get(number - 1)?.timeMs ?? 0) + 1) };
    this.pages.set(number, page);
    this.readings.push({ life: 1, page: number, atMs });
    const lines: string[] = [];
    let family = '';
    for (const series of this.series) {
      const { metric, kind, attributes } = series;
      if (metric !== family) lines.push(`# TYPE ${metric} ${kind}`);
      family = metric;
      const label = attributes.replace('=', '="').concat('"');
      for (const [service, id] of services.entries()) {
        const labels = `namespace="${id}",server_name="${id}-0",server_type="engine",service_name="${id}",topology_type="single"`;
        const value = this.valueAt(series, page, service);
        lines.push(`${metric}{${label},${labels}} ${String(value)} ${String(page.timeMs)}`);
      }
    }
    return `${lines.join('\n')}\n`;
  }
}

/** Half of them counters, half gauges. */
function seriesOf(count: number): readonly Series[] {
  const half = Math.ceil(count / 2);
  const common = { isDated: false, samples: 1 } as const;
  return Array.from({ length: count }, (_, index) =>
    index < half
      ? {
          ...common,
          metric: 'engine_global_status_commands_total',
          attributes: `command=c${String(index)}`,
          kind: 'counter',
          index,
        }
      : { ...common, metric: 'app_level', attributes: `n=${String(index)}`, kind: 'gauge', index },
  );
}

/** A hash of two numbers, with 32 bits. */
function mix(a: number, b: number): number {
  let bits = Math.imul(a + 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35);
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d);
  bits = Math.imul(bits ^ (bits >>> 12), 0x297a2d39);
  return (bits ^ (bits >>> 15)) >>> 0;
}
