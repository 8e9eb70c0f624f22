// The typed client of the service: one object with an area for each part of the specification. Programs open it with
// an address and a key; the parts of this program hand in the door that they share.

import { DEFAULTS } from '../config/defaults.ts';
import { AgentApi } from './agent.ts';
import { BackupsApi } from './backups.ts';
import type { ServiceHttp } from './http.ts';
import { type RestorePlaces, RestoresApi } from './restores.ts';
import { SchedulesApi } from './schedules.ts';

/** What the specification does not fix for all deployments. Paths are below base_url. */
export interface ServicePaths {
  readonly schedules: string;
  readonly backups: string;
  readonly restores: string;
  /** What the body of a restore calls the path of the backup. */
  readonly restoreKey: RestorePlaces['keyMember'];
  /** `/session` and `/chat` are below it. */
  readonly agent: string;
}

const { restore_key: restoreKey, ...backupPaths } = DEFAULTS.backups.endpoints;

export const DEFAULT_PATHS: ServicePaths = { ...backupPaths, restoreKey, agent: '/copilot/v1' };

export interface ServiceClientOptions {
  /** The way to the service; it stays the caller's to close. */
  readonly http: ServiceHttp;
  readonly paths?: Partial<ServicePaths>;
}

export class ServiceClient {
  readonly schedules: SchedulesApi;
  readonly backups: BackupsApi;
  readonly restores: RestoresApi;
  readonly agent: AgentApi;

  constructor({ http, paths }: ServiceClientOptions) {
    const { agent, schedules, backups, restores, restoreKey } = { ...DEFAULT_PATHS, ...paths };
    this.schedules = new SchedulesApi(http, schedules);
    this.backups = new BackupsApi(http, backups);
    this.restores = new RestoresApi(http, { path: restores, keyMember: restoreKey });
    this.agent = new AgentApi(http, agent);
  }
}
