// Files as successive pages of one target, through decode, derive and encode, as the daemon would do it.

import { createCatalogLookup } from '../catalog/lookup.ts';
import type { Config } from '../config/config.ts';
import { bug } from '../errors.ts';
import { SeriesTable } from '../model.ts';
import { Decoding } from '../pipeline/decode/decode.ts';
import { labelValue } from '../pipeline/decode/series-key.ts';
import { deriveOptions } from '../pipeline/derive/options.ts';
import { keyOfRow } from '../pipeline/derive/find-series.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import { translate, type Translated, type Translation } from '../pipeline.ts';
import { guessFormat, NO_SCRAPE } from './page-files.ts';

export interface PagesOptions {
  readonly config: Config;
  readonly atMs: number;
  readonly intervalMs: number;
  /** null: each namespace found is a service, and `local` when there is none. */
  readonly serviceId: string | null;
}

/** Translates pages one after the other; each result is valid until the next one is asked for. */
export function* translatePages(
  pages: readonly Buffer[],
  options: PagesOptions,
): Generator<{ readonly translation: Translation; readonly translated: Translated }> {
  const ids =
    options.serviceId === null ? namespacesOf(pages, options.config) : [options.serviceId];
  const translation = translationOf(options.config, ids);
  const writer = new WireWriter();
  for (const [index, bytes] of pages.entries()) {
    const startedAtMs = options.atMs + index * options.intervalMs;
    const page = {
      bytes,
      format: guessFormat(bytes),
      startedAtMs,
      // The pages come at the pace that was asked for.
      monotonicMs: startedAtMs,
      durationMs: 0,
      serverAtMs: Number.NaN,
      wireBytes: bytes.length,
    };
    const steps = translate(translation, { kind: 'page', page }, writer);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    yield { translation, translated: step.value };
  }
}

function translationOf(config: Config, ids: readonly string[]): Translation {
  const configured = new Map(ids.map((id, index) => [id, index]));
  const table = new SeriesTable();
  return {
    table,
    isKept: false,
    limits: config.metrics.limits,
    derive: deriveOptions(config, createCatalogLookup(config.metrics.prefixes), configured),
    encode: {
      isDelta: config.otlp.temporality === 'delta',
      namespace: config.metrics.namespace,
      dropLabels: new Set(config.metrics.dropLabels),
      resourceOf: service => {
        const id = table.services[service]?.id ?? bug(`no service ${service}`);
        return { name: id, id, attributes: {}, server: null };
      },
    },
  };
}

function namespacesOf(pages: readonly Buffer[], config: Config): readonly string[] {
  const found = new Set<string>();
  for (const bytes of pages) {
    const table = new SeriesTable();
    const page = { bytes, format: guessFormat(bytes), wireBytes: bytes.length, ...NO_SCRAPE };
    const decoding = new Decoding(page, table, config.metrics.limits);
    while (!decoding.step(Infinity));
    for (let row = 0; row < table.count; row++) {
      const namespace = labelValue(keyOfRow(table, row), 'namespace');
      if (namespace !== '') found.add(namespace);
    }
  }
  return found.size === 0 ? ['local'] : [...found];
}
