// The data path without its ends: pages in, OTLP out, by the stages' own functions in the order of pipeline.ts.
// One Translator is one target; its pages follow one another, as the scrapes of a daemon do.
import { createCatalogLookup } from '../../src/catalog/lookup.ts';
import type { ExpositionFormat } from '../../src/model/page.ts';
import { SeriesTable } from '../../src/model/series-table.ts';
import { Decoding } from '../../src/pipeline/decode/decode.ts';
import { SeriesBudget } from '../../src/pipeline/derive/budget.ts';
import { derive } from '../../src/pipeline/derive/derive.ts';
import type { DeriveOptions } from '../../src/pipeline/derive/options.ts';
import { encode, type EncodeOptions } from '../../src/pipeline/encode/encode.ts';
import { WireWriter } from '../../src/pipeline/encode/wire.ts';
import { oracleDecodeMetrics } from '../reference/oracle.ts';
import { expectSane, WireSanity } from './wire-sanity.ts';

const MINUTE_MS = 60_000;

const LIMITS = {
  memoryBytes: Infinity,
  bodyBytes: 2 ** 29,
  samples: 2_000_000,
  serviceSamples: 50_000,
  series: 3_000_000,
  services: 10_000,
  labels: 64,
  nameBytes: 1024,
  valueBytes: 8192,
};

/** As the configuration has them by default, with one service `local`. */
const DERIVE: DeriveOptions = {
  mapping: 'semantic',
  overrides: [],
  include: [],
  exclude: [],
  units: 'catalog',
  honorTimestamps: true,
  startTimes: true,
  staleMarkers: true,
  staleAfterMs: 5 * MINUTE_MS,
  badShare: 0.5,
  intervalMs: MINUTE_MS,
  lookup: createCatalogLookup({
    engine: ['engine_'],
    multimaster: ['engine_multimaster_'],
    dist: ['engine_dist_'],
    proxy: ['proxy_'],
  }),
  isDelta: false,
  serviceSamplesMax: LIMITS.serviceSamples,
  budget: new SeriesBudget(LIMITS),
  dropLabels: new Set(),
  configured: new Map([['local', 0]]),
  unconfigured: 'drop',
};

const ENCODE: EncodeOptions = {
  isDelta: false,
  namespace: 'resource',
  dropLabels: new Set(),
  resourceOf: () => ({ name: 'local', id: 'local', attributes: {}, server: null }),
};

export class Translator {
  readonly #table = new SeriesTable();
  readonly #options: DeriveOptions;
  readonly #sanity = new WireSanity();

  constructor(options: Partial<DeriveOptions> = {}) {
    this.#options = { ...DERIVE, ...options };
  }

  /** The request for one good page. */
  translate(page: string, startedAtMs: number, format: ExpositionFormat = 'text'): Buffer {
    const bytes = Buffer.from(page);
    const clocks = { monotonicMs: startedAtMs, serverAtMs: Number.NaN };
    const scrape = { startedAtMs, durationMs: 0, ...clocks };
    const read = { bytes, format, wireBytes: bytes.length, ...scrape };
    const decoding = new Decoding(read, this.#table, LIMITS);
    while (!decoding.step(1000)) continue;
    const outcome = { ...scrape, bodyBytes: bytes.length, report: decoding.report, reason: '' };
    finish(derive(this.#table, outcome, this.#options));
    const options = { ...ENCODE, isDelta: this.#options.isDelta };
    const batch = finish(encode(this.#table, new WireWriter(), options, startedAtMs));
    expectSane(this.#sanity, oracleDecodeMetrics(batch.payload));
    return batch.payload;
  }
}

function finish<T>(steps: Generator<void, T>): T {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
