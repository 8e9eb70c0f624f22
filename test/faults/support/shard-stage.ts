// Shards as an operator runs them: a process for each, with its own queue, over one source, and a sink for each, so that a
// test sees which shard sent what. A page of the source has one time, like the service's page of a minute; every poll
// within it gets the same samples.

import { join } from 'node:path';
import type { OtlpPoint } from '../../support/otlp-points.ts';
import { type Running, start, tempDirectory, until } from '../../support/program.ts';
import { WireGate } from '../../support/wire-sanity.ts';
import { WAIT_MS } from './bridge.ts';
import { Sink } from './sink.ts';
import { Source } from './source.ts';

/** What all shards together sent of some pages. A page of a service is a text, `ID NUMBER`. */
export interface Cover {
  /** Services that have another shard on the last page than on the first. */
  readonly moved: readonly string[];
  /** No shard sent it. */
  readonly lost: readonly string[];
  /** Two shards sent it. */
  readonly doubled: readonly string[];
  /** It came without some of its series. */
  readonly partial: readonly string[];
  /** Metrics of doubled pages whose two points have different values. */
  readonly otherValues: ReadonlySet<string>;
  /** Metrics of doubled pages whose two points have different starts. */
  readonly otherStarts: ReadonlySet<string>;
}

interface Shard {
  readonly sink: Sink;
  process: Running | null;
  /** The points of the source's series, by page of a service and by series. */
  readonly came: Map<string, Map<string, OtlpPoint>>;
  /** All points, by series and time. */
  readonly seen: Set<string>;
  received: number;
}

export class ShardStage {
  readonly source: Source;
  readonly #shards: readonly Shard[];
  readonly #files = tempDirectory();

  private constructor(source: Source, sinks: readonly Sink[]) {
    this.source = source;
    this.#shards = sinks.map(sink => {
      const shard: Shard = { sink, process: null, came: new Map(), seen: new Set(), received: 0 };
      sink.onTaken = points => this.#take(shard, points);
      return shard;
    });
  }

  /** At most `max` shards can run. A page lasts for `refreshMs`. */
  static async create(max: number, services: number, refreshMs: number): Promise<ShardStage> {
    const ids = Array.from({ length: services }, (_, i) => `dbshard${String(i).padStart(4, '0')}`);
    const source = await Source.start({ services: ids, width: 4, isStamped: true, refreshMs });
    const gates = Array.from({ length: max }, () => new WireGate({ mayResend: true }));
    return new ShardStage(source, await Promise.all(gates.map(gate => Sink.start(gate))));
  }

  /** Starts a shard on its queue, and waits for its first page. */
  async start(index: number, count: number): Promise<void> {
    const process = start(['run', '--config', this.#configure(index, count)]);
    this.#of(index).process = process;
    await process.ready();
    await process.shows('the first page', ({ state }) => state === 'ready', WAIT_MS);
  }

  /** Changes the number of shards in the configuration of a running one, and waits until it has loaded it. */
  async reload(index: number, count: number): Promise<void> {
    const process = this.#process(index);
    const before = (await process.status()).reload?.at;
    this.#configure(index, count);
    await process.shows('a reload', ({ reload }) => reload !== null && reload.at !== before);
  }

  /** Waits until the account that a shard prints agrees with its sink, then stops it. */
  async stop(index: number): Promise<void> {
    const shard = this.#of(index);
    const process = this.#process(index);
    const isBalanced = async (): Promise<boolean> => {
      const received = shard.received;
      const { account, queue } = await process.status();
      const isEmpty = queue.every(({ rows }) => rows === 0) && received === shard.received;
      return isEmpty && account.total.points.accepted === received - this.repeated(index);
    };
    await until('the account agrees with the sink', isBalanced, WAIT_MS);
    await process.stop();
    shard.process = null;
  }

  /** The points that came twice from a shard. */
  repeated(index: number): number {
    const { received, seen } = this.#of(index);
    return received - seen.size;
  }

  /** Waits for the beginning of `count` more pages. Returns the last one that every shard had the time to read. */
  async pages(count: number): Promise<number> {
    const newest = (): number => Math.max(...this.source.pages.keys());
    const goal = newest() + count;
    await until(`page ${goal}`, () => newest() >= goal, WAIT_MS);
    return goal - 1;
  }

  /** The pages that were there at some time between two (wall clock). */
  pagesAt(fromMs: number, toMs: number): readonly number[] {
    const { pages, options } = this.source;
    const isThere = ({ timeMs }: { timeMs: number }): boolean =>
      timeMs <= toMs && timeMs + options.refreshMs > fromMs;
    return [...pages.values()].filter(isThere).map(({ number }) => number);
  }

  /** What came of the pages from `first` to `last`. */
  cover(first: number, last: number): Cover {
    const { options, series } = this.source;
    const lost: string[] = [];
    const doubled: string[] = [];
    const partial: string[] = [];
    const [otherValues, otherStarts] = [new Set<string>(), new Set<string>()];
    const places = options.services.flatMap(id =>
      Array.from({ length: last - first + 1 }, (_, i) => `${id} ${first + i}`),
    );
    for (const place of places) {
      const all = this.#shards
        .map(({ came }) => came.get(place))
        .filter(came => came !== undefined);
      const [one, other] = all;
      if (one === undefined) lost.push(place);
      if (all.some(({ size }) => size !== series.length)) partial.push(place);
      if (other === undefined) continue;
      doubled.push(place);
      for (const [name, point] of one ?? []) {
        const twin = other.get(name);
        if (twin?.startNs !== point.startNs) otherStarts.add(point.metric);
        if (twin?.value !== point.value || twin?.distribution !== point.distribution)
          otherValues.add(point.metric);
      }
    }
    const ownerOf = (id: string, page: number): number =>
      this.#shards.findIndex(({ came }) => came.has(`${id} ${page}`));
    const moved = options.services.filter(id => ownerOf(id, first) !== ownerOf(id, last));
    return { moved, lost, doubled, partial, otherValues, otherStarts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process } of this.#shards) await process?.kill();
    await this.source.close();
    for (const { sink } of this.#shards) await sink.close();
    this.#files[Symbol.dispose]();
  }

  #configure(index: number, count: number): string {
    const config = {
      api: { base_url: this.source.url, key: 'a-key', timeout: '1s' },
      services: this.source.options.services.map(id => ({ id })),
      metrics: { interval: '1s' },
      otlp: { endpoint: this.#of(index).sink.url, timeout: '60s' },
      queue: { directory: join(this.#files.path, `queue-${index}`) },
      status: { listen: '127.0.0.1:0' },
      telemetry: { enabled: false },
      shard: { index, count },
    };
    return this.#files.write(`shard-${index}.yaml`, JSON.stringify(config));
  }

  #of(index: number): Shard {
    const shard = this.#shards[index];
    if (shard === undefined) throw new Error(`there is no shard ${index}`);
    return shard;
  }

  #process(index: number): Running {
    const { process } = this.#of(index);
    if (process === null) throw new Error(`shard ${index} is not running`);
    return process;
  }

  #take(shard: Shard, points: readonly OtlpPoint[]): void {
    shard.received += points.length;
    const { pages, series } = this.source;
    const metrics = new Set(series.map(({ metric }) => metric));
    const pageOf = new Map([...pages.values()].map(({ number, timeMs }) => [timeMs, number]));
    for (const point of points) {
      const { serviceId, metric, attributes, timeNs } = point;
      const name = `${metric} ${attributes}`;
      shard.seen.add(`${serviceId} ${name} ${timeNs}`);
      if (!metrics.has(metric)) continue;
      const place = `${serviceId} ${pageOf.get(Number(BigInt(timeNs) / 1_000_000n))}`;
      const came = shard.came.get(place) ?? new Map<string, OtlpPoint>();
      shard.came.set(place, came.set(name, point));
    }
  }
}
