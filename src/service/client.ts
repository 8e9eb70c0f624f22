// The typed client of the service: one object with an area for each part of the specification. Programs open it with
// an address and a key; the parts of this program hand in the door that they share.

import { BackupsApi } from './backups.ts';
import type { ServiceHttp } from './http.ts';
import { SchedulesApi } from './schedules.ts';

/** Where operations are whose paths the specification does not fix for all deployments. Below base_url. */
export interface ServicePaths {
  readonly schedules: string;
  readonly backups: string;
  readonly restores: string;
}

export const DEFAULT_PATHS: ServicePaths = {
  schedules: '/backup/v1/backups/schedules',
  backups: '/backup/v1/backups',
  restores: '/backup/v1/restores',
};

export interface ServiceClientOptions {
  /** The way to the service; it stays the caller's to close. */
  readonly http: ServiceHttp;
  readonly paths?: Partial<ServicePaths>;
}

export class ServiceClient {
  readonly schedules: SchedulesApi;
  readonly backups: BackupsApi;

  constructor({ http, paths }: ServiceClientOptions) {
    const { schedules, backups } = { ...DEFAULT_PATHS, ...paths };
    this.schedules = new SchedulesApi(http, schedules);
    this.backups = new BackupsApi(http, backups);
  }
}
