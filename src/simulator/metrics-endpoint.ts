// GET /observability/v2/metrics: all services in one page, or those with the name that `service` gives. The
// values come out of a store that refreshes at intervals, so a page asked for twice within one says the same
// (time, value) again; proxies are scraped later than engines and have older samples on the same page.

import { z } from 'zod';
import { type Answer, type EndpointRequest, errorAnswer, type FaultTable } from './answer.ts';
import { layoutPage, type PageLayout, renderPage, type SampleTime } from './page.ts';
import type { SimulatedSeries } from './series.ts';
import type { SimulatedServer } from './topology.ts';
import type { World } from './world.ts';

export interface StoreOptions {
  /** How often the store takes new samples. */
  readonly refreshMs: number;
  /** How much older a proxy's samples are than an engine's. */
  readonly proxyLagMs: number;
}

export const METRICS_PATH = '/observability/v2/metrics';

/** What can be wrong with the page. */
export interface PageFaults {
  /** How many broken lines come before the first sample of each service id. */
  readonly badLines: Readonly<Record<string, number>>;
  readonly isLastNewlineMissing: boolean;
  /** Ids of services that are not on it. */
  readonly absentServices: readonly string[];
  /** `frozen`: the store does not refresh, neither values nor times, from when this was set. */
  readonly timestamps: 'explicit' | 'frozen' | 'none';
  /** How far the service's clock, Date header and samples alike, is ahead of the simulator's. */
  readonly clockSkewMs: number;
}

export const PAGE_FAULTS: FaultTable<PageFaults> = {
  badLines: [z.record(z.string(), z.int().min(0).max(100_000)), {}],
  isLastNewlineMissing: [z.boolean(), false],
  absentServices: [z.array(z.string()).max(10_000), []],
  timestamps: [z.enum(['explicit', 'frozen', 'none']), 'explicit'],
  clockSkewMs: [z.number().min(-1e12).max(1e12), 0],
};

interface CachedPage {
  readonly layout: PageLayout;
  key: string;
  body: Buffer;
}

const HEADERS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };
const NOTHING = Buffer.alloc(0);

export class MetricsEndpoint {
  readonly #world: World;
  readonly #store: StoreOptions;
  readonly #pages = new Map<string, CachedPage>();

  constructor(world: World, store: StoreOptions) {
    this.#world = world;
    this.#store = store;
  }

  /** `storeMs` is the time up to which the store has refreshed: now, or earlier where it is frozen. */
  answer(request: EndpointRequest, storeMs: number, faults: PageFaults): Answer {
    if (request.method !== 'GET') return errorAnswer(405, 'Method not allowed', request);
    const body = this.page(request.query.get('service'), storeMs, faults);
    const end = faults.isLastNewlineMissing ? body.length - 1 : body.length;
    return { status: 200, headers: HEADERS, body: body.subarray(0, Math.max(end, 0)) };
  }

  /** The page's bytes; shared with later calls, so not to be written to. */
  page(serviceName: string | null, storeMs: number, faults: PageFaults): Buffer {
    const cached = this.#pageOf(serviceName, faults);
    const tick = Math.floor(storeMs / this.#store.refreshMs);
    const isExplicit = faults.timestamps !== 'none';
    const key = `${tick} ${this.#world.version} ${isExplicit}`;
    if (cached.key === key) return cached.body;
    cached.key = key;
    cached.body = renderPage(
      cached.layout,
      cached.layout.servers.map(({ service, server }): SampleTime => {
        const timeMs = this.sampleTimeMs(server, storeMs);
        return { moment: this.#world.momentOf(service, server, timeMs), isExplicit };
      }),
    );
    return cached.body;
  }

  /** The timestamp of this server's samples on a page of that time. */
  sampleTimeMs(server: SimulatedServer, storeMs: number): number {
    const { refreshMs, proxyLagMs } = this.#store;
    const tickMs = Math.floor(storeMs / refreshMs) * refreshMs;
    return server.role === 'proxy' ? tickMs - proxyLagMs : tickMs;
  }

  #pageOf(serviceName: string | null, faults: PageFaults): CachedPage {
    const { absentServices, badLines } = faults;
    const id = JSON.stringify([serviceName, absentServices, badLines]);
    const known = this.#pages.get(id);
    if (known !== undefined) return known;
    const isShown = ({ service }: SimulatedSeries): boolean =>
      !absentServices.includes(service.id) &&
      (serviceName === null || service.name === serviceName);
    const layout = layoutPage(this.#world.series.filter(isShown), badLines);
    const page: CachedPage = { layout, key: '', body: NOTHING };
    // Enough for one page per service and one of all; other pages came from faults.
    if (this.#pages.size > this.#world.services.length) this.#pages.clear();
    this.#pages.set(id, page);
    return page;
  }
}
