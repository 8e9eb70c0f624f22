// The counters of decode, derive and encode: what was read, what it became, what was dropped and why.

import type { Counter, Counters } from '../lib/counters.ts';
import type { PageReport } from '../model/page.ts';
import type { DeriveReport } from './derive/derive.ts';

export class TranslateMeter {
  readonly #pages: Counter;
  readonly #badLines: Counter;
  readonly #samples: Counter;
  readonly #points: Counter;
  readonly #stale: Counter;
  readonly #drift: Counter;
  readonly #nameLabels: Counter;
  readonly #skew: Counter;
  /** By target: the services of its last page. */
  readonly #services = new Map<string, DeriveReport['services']>();

  constructor(counters: Counters) {
    this.#pages = counters.counter('prom2otlp_decode_pages_total', 'Pages read.');
    this.#badLines = counters.counter(
      'prom2otlp_decode_bad_lines_total',
      'Sample lines that were dropped because they could not be parsed.',
    );
    this.#samples = counters.counter(
      'prom2otlp_derive_samples_total',
      'Samples by service and fate.',
      ['service', 'fate'],
    );
    this.#points = counters.counter(
      'prom2otlp_encode_points_total',
      'Data points made, including stale markers and the series that prom2otlp adds.',
      ['service'],
    );
    this.#stale = counters.counter(
      'prom2otlp_derive_stale_markers_total',
      'Points without a value that mark the end of a series.',
      ['service'],
    );
    this.#drift = counters.counter(
      'prom2otlp_derive_drift_total',
      'Names and types on a page that differ from the catalog, by kind.',
      ['kind'],
    );
    this.#nameLabels = counters.counter(
      'prom2otlp_derive_name_labels_total',
      'Labels `__name__` that were dropped because a series has one name.',
    );
    this.#skew = counters.gauge(
      'prom2otlp_service_clock_skew_seconds',
      'Seconds by which the clock of this machine is ahead of the `Date` of the service; negative if it is behind.',
      ['service'],
    );
    const up = counters.gauge(
      'prom2otlp_service_up',
      '1 if the last scrape of the service succeeded, else 0 with the reason.',
      ['service', 'reason'],
    );
    // One line per service: the one of an old reason goes when the reason changes.
    up.follow(() =>
      Array.from(this.#services.values()).flatMap(services =>
        services.map(({ id, isUp, reason }) => ({
          labelValues: [id, isUp ? '' : reason],
          value: isUp ? 1 : 0,
        })),
      ),
    );
  }

  /** Counts one page of a target, or one scrape that gave none (`page` null). */
  count(target: string, page: PageReport | null, derived: DeriveReport): void {
    if (page !== null) {
      this.#pages.add(1);
      this.#badLines.add(page.badLines);
    }
    for (const { service, fate, count } of derived.reads) this.#samples.add(count, service, fate);
    this.#nameLabels.add(derived.nameLabels);
    for (const [kind, count] of Object.entries(derived.drift?.added ?? {}))
      this.#drift.add(count, kind);
    for (const service of derived.services) {
      this.#points.add(service.points, service.id);
      this.#stale.add(service.stalePoints, service.id);
      if (!Number.isNaN(derived.clockSkewMs))
        this.#skew.set(derived.clockSkewMs / 1000, service.id);
    }
    this.#services.set(target, derived.services);
  }
}
