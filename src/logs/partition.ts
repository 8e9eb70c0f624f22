// Whose logs they are: one database service, one source of it (a server), one type of log.

import type { ServiceConfig } from '../config/config.ts';

export interface Partition {
  /** The configured service. */
  readonly service: ServiceConfig;
  /** The service's own id of what wrote the log; '' where it gives none. */
  readonly source: string;
  /** The name of the server for people. */
  readonly server: string;
  readonly type: string;
}

/** The name of a partition in the stored state. */
export function partitionKey({ service, source, type }: Partition): string {
  return JSON.stringify([service.id, source, type]);
}
