// The typed client of the service: one object with an area for each part of the specification. Programs open it with
// an address and a key; the parts of this program hand in the door that they share.

import { DEFAULT_ENDPOINTS } from '../config/endpoints.ts';
import { bug } from '../errors.ts';
import { AgentApi } from './agent.ts';
import { BackupsApi } from './backups.ts';
import type { ServiceHttp } from './http.ts';
import { LogsApi } from './logs.ts';
import { MetricsApi } from './metrics.ts';
import { openHttp, type ServiceAddress } from './open-http.ts';
import { type RestorePlaces, RestoresApi } from './restores.ts';
import { SchedulesApi } from './schedules.ts';

/** What the specification does not fix for all deployments. Paths are below the base URL. */
export interface ServicePaths {
  readonly metrics: string;
  readonly schedules: string;
  readonly backups: string;
  readonly restores: string;
  /** What the body of a restore calls the path of the backup. */
  readonly restoreKey: RestorePlaces['keyMember'];
  /** `/session` and `/chat` are below it. */
  readonly agent: string;
}

const DEFAULT_PATHS: ServicePaths = {
  metrics: DEFAULT_ENDPOINTS.metricsPath,
  ...DEFAULT_ENDPOINTS.backups,
  agent: '/copilot/v1',
};

/** An address with a key; or the way that parts of one program share, which stays theirs to close. */
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
  readonly #own: ServiceHttp | null;

  /** Opens no connection yet. Throws when the key would not be safe with these settings. */
  constructor(options: ServiceClientOptions) {
    this.#own = 'http' in options ? null : openHttp(options);
    const http = this.#own ?? ('http' in options ? options.http : bug('no way to the service'));
    const paths = { ...DEFAULT_PATHS, ...options.paths };
    this.metrics = new MetricsApi(http, paths.metrics);
    this.logs = new LogsApi(http);
    this.schedules = new SchedulesApi(http, paths.schedules);
    this.backups = new BackupsApi(http, paths.backups);
    this.restores = new RestoresApi(http, { path: paths.restores, keyMember: paths.restoreKey });
    this.agent = new AgentApi(http, paths.agent);
  }

  /** Ends the connections that it opened itself; what is running fails as `aborted`. */
  async close(): Promise<void> {
    await this.#own?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
