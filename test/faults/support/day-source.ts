// A fleet's page for a long run: many services in the service's own form (explicit timestamps, five common labels). Every
// value changes with every page and is a function of page and series, so that only the time of each page must be
// remembered.

import type { Clock } from '../../../src/lib/clock.ts';
import { listen, type LoopbackServer } from '../../../src/simulator/loopback-server.ts';

export interface DaySourceOptions {
  readonly services: readonly string[];
  /** The series of each service. */
  readonly series: number;
  readonly clock: Clock;
}

interface DaySeries {
  readonly metric: string;
  /** The label that distinguishes the series from others with its name. */
  readonly label: string;
  readonly isCounter: boolean;
}

export class DaySource {
  readonly options: DaySourceOptions;
  readonly series: readonly DaySeries[];
  /** The time on each page that was served. */
  readonly times: number[] = [];
  #server!: LoopbackServer;

  private constructor(options: DaySourceOptions) {
    this.options = options;
    this.series = seriesOf(options.series);
  }

  static async start(options: DaySourceOptions): Promise<DaySource> {
    const source = new DaySource(options);
    source.#server = await listen({}, (_request, response) => {
      response.setHeader('content-type', 'text/plain; version=0.0.4');
      response.end(source.#serve());
    });
    return source;
  }

  get url(): string {
    return this.#server.url;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server.close();
  }

  /** The value of a series of a service on a page. */
  valueAt(service: number, index: number, page: number): number {
    const place = service * this.series.length + index;
    const noise = mix(place, page);
    if (this.series[index]?.isCounter !== true)
      return (noise % 10 ** (1 + (index % 6))) / 10 ** (index % 4);
    const step = 1 + (mix(place, 0) % 5000);
    return page * step + (noise % step);
  }

  #serve(): string {
    const { services, clock } = this.options;
    const page = this.times.length;
    const timeMs = Math.max(clock.nowMs(), (this.times.at(-1) ?? 0) + 1);
    this.times.push(timeMs);
    const lines: string[] = [];
    let family = '';
    for (const [index, { metric, label, isCounter }] of this.series.entries()) {
      if (metric !== family) lines.push(`# TYPE ${metric} ${isCounter ? 'counter' : 'gauge'}`);
      family = metric;
      for (const [number, id] of services.entries()) {
        const labels = `namespace="${id}",server_name="${id}-0",server_type="engine",service_name="${id}",topology_type="single"`;
        const value = this.valueAt(number, index, page);
        lines.push(`${metric}{${label},${labels}} ${String(value)} ${String(timeMs)}`);
      }
    }
    return `${lines.join('\n')}\n`;
  }
}

/** Half of them counters, half gauges. */
function seriesOf(count: number): readonly DaySeries[] {
  const half = Math.ceil(count / 2);
  return Array.from({ length: count }, (_, index) =>
    index < half
      ? {
          metric: 'engine_global_status_commands_total',
          label: `command="c${String(index)}"`,
          isCounter: true,
        }
      : { metric: 'app_level', label: `n="${String(index)}"`, isCounter: false },
  );
}

/** A hash of two numbers, with 32 bits. */
function mix(a: number, b: number): number {
  let bits = Math.imul(a + 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35);
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d);
  bits = Math.imul(bits ^ (bits >>> 12), 0x297a2d39);
  return (bits ^ (bits >>> 15)) >>> 0;
}
