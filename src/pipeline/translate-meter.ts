// The counters of decode, derive and encode: pages, samples by outcome, points, and the state of services.

import type { Counters, CountersOf } from '../lib/counters.ts';
import type { PageReport } from '../model/page.ts';
import type { DeriveReport } from './derive/derive.ts';

export const PAGE_COUNTERS = {
  pages: {
    name: 'prom2otlp_decode_pages_total',
    help: 'Pages read.',
  },
  badLines: {
    name: 'prom2otlp_decode_bad_lines_total',
    help: 'Sample lines that were dropped because they could not be parsed.',
  },
  samples: {
    name: 'prom2otlp_derive_samples_total',
    help: 'Samples by service and outcome.',
    labels: ['service', 'outcome'],
  },
  points: {
    name: 'prom2otlp_encode_points_total',
    help: 'Data points made, including stale markers and the series that prom2otlp adds.',
    labels: ['service'],
  },
  stale: {
    name: 'prom2otlp_derive_stale_markers_total',
    help: 'Points without a value that mark the end of a series.',
    labels: ['service'],
  },
  drift: {
    name: 'prom2otlp_derive_drift_total',
    help: 'Names and types on a page that differ from the catalog, by kind.',
    labels: ['kind'],
  },
  nameLabels: {
    name: 'prom2otlp_derive_name_labels_total',
    help: 'Labels `__name__` that were dropped because a series has one name.',
  },
  takenLabels: {
    name: 'prom2otlp_derive_taken_labels_total',
    help: 'Series on a page that have a label under the name that metrics.rename gives another one: that one keeps its own.',
  },
  earlyTimes: {
    name: 'prom2otlp_derive_early_times_total',
    help: 'Samples stamped before the year 2000, which got the time of the scrape.',
  },
  lostStates: {
    name: 'prom2otlp_derive_states_lost_total',
    help: 'Stored states of targets that could not be read: their series began anew.',
  },
  skew: {
    name: 'prom2otlp_service_clock_skew_seconds',
    help: 'Seconds by which the clock of this machine is ahead of the `Date` of the service; negative if it is behind.',
    labels: ['service'],
  },
  up: {
    name: 'prom2otlp_service_up',
    help: '1 if the last scrape of the service succeeded, else 0 with the reason.',
    labels: ['service', 'reason'],
  },
} as const;

export class TranslateMeter {
  readonly #counters: CountersOf<typeof PAGE_COUNTERS>;
  /** By target: the services of its last page, and the last known skew of its clock. */
  readonly #targets = new Map<string, Pick<DeriveReport, 'services' | 'clockSkewMs'>>();

  constructor(counters: Counters) {
    this.#counters = counters.of(PAGE_COUNTERS);
    // A service has only one series: a new reason must not leave the series with the old reason.
    this.#counters.up.follow(() =>
      this.#services().map(({ id, isUp, reason }) => ({
        labelValues: [id, isUp ? '' : reason],
        value: isUp ? 1 : 0,
      })),
    );
    this.#counters.skew.follow(() =>
      this.#services()
        .filter(({ clockSkewMs }) => !Number.isNaN(clockSkewMs))
        .map(({ id, clockSkewMs }) => ({ labelValues: [id], value: clockSkewMs / 1000 })),
    );
  }

  /** Each service once: an unconfigured service may be on the pages of two targets. */
  #services(): readonly (DeriveReport['services'][number] & { readonly clockSkewMs: number })[] {
    const entries = [...this.#targets.values()].flatMap(({ services, clockSkewMs }) =>
      services.map(service => [service.id, { ...service, clockSkewMs }] as const),
    );
    return [...new Map(entries).values()];
  }

  /** Forgets, after a reload, the services that a target no longer has. */
  keep(has: (target: string, service: string) => boolean): void {
    for (const [target, last] of this.#targets) {
      const services = last.services.filter(({ id }) => has(target, id));
      if (services.length === 0) this.#targets.delete(target);
      else this.#targets.set(target, { ...last, services });
    }
  }

  /** Counts one page of a target, or a scrape without a page (`page` null). */
  count(target: string, page: PageReport | null, derived: DeriveReport): void {
    const { pages, badLines, samples, points, stale } = this.#counters;
    if (page !== null) {
      pages.add(1);
      badLines.add(page.badLines);
    }
    for (const { service, outcome, count } of derived.reads) samples.add(count, service, outcome);
    for (const name of ['nameLabels', 'takenLabels', 'earlyTimes'] as const)
      this.#counters[name].add(derived[name]);
    for (const service of derived.services) {
      points.add(service.points, service.id);
      stale.add(service.stalePoints, service.id);
    }
    const { services, clockSkewMs } = derived;
    const knownMs = Number.isNaN(clockSkewMs)
      ? this.#targets.get(target)?.clockSkewMs
      : clockSkewMs;
    this.#targets.set(target, { services, clockSkewMs: knownMs ?? Number.NaN });
  }

  /** Counts differences from the catalog that are new, by kind. */
  countLostState(): void {
    this.#counters.lostStates.add(1);
  }

  countDrift(added: Readonly<Record<string, number>>): void {
    for (const [kind, count] of Object.entries(added)) this.#counters.drift.add(count, kind);
  }
}
