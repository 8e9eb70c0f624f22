// The typed client of the service, with a member for each part of the specification. Other programs open it with an
// address and a key; the parts of this program pass their shared HTTP client.

import type { BackupEndpoints, Secret } from '../config/config.ts';
import { DEFAULT_ENDPOINTS } from '../config/endpoints.ts';
import { ConfigSecret } from '../config/secrets.ts';
import { systemClock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { AgentApi } from './agent-api.ts';
import { ApiArea } from './api-area.ts';
import { BackupsApi, SchedulesApi } from './backups-api.ts';
import { PAGE_ACCEPT } from './exchange.ts';
import { type ReadOptions, ServiceHttp, type SettingNames } from './http-client.ts';
import { InventoryApi } from './inventory-api.ts';
import { LogsApi } from './logs-api.ts';
import { RestoresApi } from './restores-api.ts';
import type { Result } from './service-error.ts';

/** Paths below the base URL, and other details that differ between deployments. */
export interface ServicePaths extends BackupEndpoints {
  readonly metrics: string;
  /** `/agent/`, `/session` and `/chat` are below it. */
  readonly agent: string;
  readonly inventory: string;
}

const DEFAULT_PATHS: ServicePaths = {
  metrics: DEFAULT_ENDPOINTS.metricsPath,
  ...DEFAULT_ENDPOINTS.backups,
  agent: '/copilot/v1',
  inventory: DEFAULT_ENDPOINTS.inventoryPath,
};

/** An address with a key, or a shared HTTP client, which the caller closes. */
export type ServiceClientOptions = (ServiceAddress | { readonly http: ServiceHttp }) & {
  readonly paths?: Partial<ServicePaths>;
};

export class ServiceClient {
  readonly metrics: MetricsApi;
  readonly logs: LogsApi;
  readonly schedules: SchedulesApi;
  readonly backups: BackupsApi;
  readonly restores: RestoresApi;
  readonly agent: AgentApi;
  readonly inventory: InventoryApi;
  readonly #own: ServiceHttp | null;

  /** Opens no connection yet. Throws an OperatorError if the key would not be safe with these settings. */
  constructor(options: ServiceClientOptions) {
    const isShared = 'http' in options;
    const http = isShared ? options.http : openHttp(options);
    this.#own = isShared ? null : http;
    const paths = { ...DEFAULT_PATHS, ...options.paths };
    this.metrics = new MetricsApi(http, paths.metrics);
    this.logs = new LogsApi(http);
    this.schedules = new SchedulesApi(http, paths.schedules);
    this.backups = new BackupsApi(http, paths.backups);
    this.restores = new RestoresApi(http, paths);
    this.agent = new AgentApi(http, paths.agent);
    this.inventory = new InventoryApi(http, paths.inventory);
  }

  /** Closes its own connections; running calls fail as `aborted`. */
  async close(): Promise<void> {
    await this.#own?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

// The HTTP client for other programs, which have no configuration file. It has the same checks and limits.

/** A text, or a function that reads it, called again after the service has refused the key. */
export type SecretSource = string | (() => string);

export interface ServiceAddress {
  /** The key is sent to its origin only. */
  readonly baseUrl: string;
  readonly key: SecretSource;
  /** Further request headers; their values are secret, too. */
  readonly headers?: Readonly<Record<string, SecretSource>>;
  /** The timeout of one request, in milliseconds; 10,000 if absent. A chat has its own. */
  readonly timeoutMs?: number;
  /** PEM text of certificates to trust instead of Node's and the system's. */
  readonly ca?: string;
  /** An HTTP proxy, with user and password if it needs them. */
  readonly proxy?: SecretSource;
  /** True allows the key to be sent over plain http to other machines. */
  readonly isInsecureAllowed?: boolean;
}

const TIMEOUT_MS = 10_000;
const NAMES: SettingNames = {
  'api.base_url': 'the option `baseUrl`',
  'api.key': 'the option `key`',
  'api.timeout': 'the option `timeoutMs`',
  'api.ca': 'the option `ca`',
  'api.proxy': 'the option `proxy`',
};

function openHttp(address: ServiceAddress): ServiceHttp {
  const { baseUrl, key, headers = {}, timeoutMs = TIMEOUT_MS, ca, proxy } = address;
  const secrets = Object.entries(headers).map(([name, value]) => [name, secretOf(value)] as const);
  return new ServiceHttp({
    api: {
      baseUrl,
      key: secretOf(key),
      headers: Object.fromEntries(secrets),
      timeoutMs,
      ca: ca ?? null,
      proxy: proxy === undefined ? null : secretOf(proxy),
      isInsecureAllowed: address.isInsecureAllowed === true,
    },
    clock: systemClock,
    counters: new Counters(),
    names: NAMES,
  });
}

function secretOf(source: SecretSource): Secret {
  return typeof source === 'string'
    ? new ConfigSecret(source)
    : new ConfigSecret(source(), () => {
        try {
          return source();
        } catch {
          // Such as a file that is missing for a moment while it is replaced.
          return undefined;
        }
      });
}

// The metrics page (service-spec 2.7): the service's Prometheus text, unparsed, with the series of every database
// service that the key can see, or of one.

export interface MetricsQuery extends ReadOptions {
  /** The *name* of one database service, not its id. Observed; the specification has no parameter. */
  readonly service?: string | undefined;
  /** The limit of the unpacked page, in bytes; 512 MiB if absent. */
  readonly maxBytes?: number | undefined;
}

export interface MetricsPage {
  readonly text: string;
  /** The Content-Type header, which distinguishes text 0.0.4 from OpenMetrics. */
  readonly contentType: string;
}

const PAGE_BYTES_MAX = 512 * 1024 * 1024;

export class MetricsApi extends ApiArea {
  async read({ service, signal, maxBytes }: MetricsQuery = {}): Promise<Result<MetricsPage>> {
    const answer = await this.http.get(this.path, {
      accept: PAGE_ACCEPT,
      query: { service },
      maxBodyBytes: maxBytes ?? PAGE_BYTES_MAX,
      signal,
    });
    if (!answer.ok) return answer;
    return { ok: true, text: answer.body.toString('utf8'), contentType: answer.contentType };
  }
}
