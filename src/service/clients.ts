// The HTTP clients of a running process: parts that use the same API with the same settings share a client, and clients
// with the same key and origin share the pause that Retry-After asks for.

import { hash } from 'node:crypto';
import type { ApiConfig, Config } from '../config/config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { type Pause, ServiceHttp, type SettingNames } from './http-client.ts';
import { KeyHold } from './key-hold.ts';
import { followPulls, PullReport, type PullReportOptions } from './pull-report.ts';

export interface ServiceClientsOptions {
  readonly clock: Clock;
  readonly counters: Counters;
  readonly names?: SettingNames;
  /** Those that are in use: what is known of their keys lives on. */
  readonly former?: ServiceClients | undefined;
}

/**
 * A digest that is equal for equal settings and secrets. Secrets may be short, so it is only for comparison within the
 * process, and never stored or shown.
 */
export function apiIdentity(api: ApiConfig): string {
  const headers = Object.entries(api.headers)
    .map(([name, value]) => [name.toLowerCase(), value.reveal()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const { baseUrl, key, timeoutMs, ca, proxy, isInsecureAllowed } = api;
  return digest([
    baseUrl,
    key.reveal(),
    headers,
    timeoutMs,
    ca,
    proxy?.reveal() ?? null,
    isInsecureAllowed,
  ]);
}

/** The settings of every service, and the settings for services that may be found. */
export function apisOf({
  services,
  elsewhere,
  auto,
}: Pick<Config, 'services' | 'elsewhere' | 'auto'>): readonly ApiConfig[] {
  const found = auto === null ? [] : auto.apis;
  return [...found, ...[...services, ...elsewhere].map(({ api }) => api)];
}

/** The parts that are shared by all clients of one key and origin. */
interface SharedKey {
  readonly pause: Pause;
  readonly hold: KeyHold;
}

export class ServiceClients {
  /** The reports of all parts that poll the service. */
  readonly reports: PullReport[] = [];
  readonly #options: Omit<ServiceClientsOptions, 'former'>;
  readonly #clients = new Map<string, ServiceHttp>();
  readonly #keys = new Map<string, SharedKey>();
  readonly #formerKeys: ReadonlyMap<string, SharedKey>;

  constructor({ former, ...options }: ServiceClientsOptions) {
    this.#options = options;
    this.#formerKeys = new Map(former === undefined ? [] : former.#keys);
  }

  /** Shows these reports in the gauges, instead of the former ones, whose state they take over. */
  follow(former: ServiceClients | null): void {
    const before = new Map(former?.reports.map(report => [report.name, report]));
    for (const report of this.reports) {
      const same = before.get(report.name);
      if (same !== undefined) report.continue(same);
    }
    followPulls(this.#options.counters, this.reports);
  }

  /** The client for these settings. Throws an OperatorError if the key would not be safe with them. */
  get(api: ApiConfig): ServiceHttp {
    const identity = apiIdentity(api);
    const known = this.#clients.get(identity);
    if (known !== undefined) return known;
    const { pause, hold } = this.#key(api);
    const isKeyRefused = (): boolean => hold.isRefused;
    const client = new ServiceHttp({ ...this.#options, api, pause, isKeyRefused });
    this.#clients.set(identity, client);
    return client;
  }

  /** Creates the report of a part that polls this API. */
  report(api: ApiConfig, options: PullReportOptions): PullReport {
    const report = new PullReport(options, this.#key(api).hold);
    this.reports.push(report);
    return report;
  }

  async close(): Promise<void> {
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    await Promise.all(clients.map(client => client.close()));
  }

  #key(api: ApiConfig): SharedKey {
    const { clock } = this.#options;
    const origin = URL.parse(api.baseUrl)?.origin ?? '';
    const identity = digest([origin, api.key.reveal()]);
    const known = this.#keys.get(identity) ?? this.#formerKeys.get(identity);
    const key = known ?? { pause: { untilMs: -Infinity }, hold: new KeyHold(clock) };
    this.#keys.set(identity, key);
    return key;
  }
}

function digest(parts: unknown): string {
  return hash('sha256', JSON.stringify(parts));
}
