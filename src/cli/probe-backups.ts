// The part of `check --probe` that concerns backups: what the schedules of each service amount to, read as the watch
// reads them. Nothing is sent, and nothing is remembered.

import type { Config } from '../config/config.ts';
import { planTargets } from '../pipeline/collect/targets.ts';
import { ServiceClient } from '../service/client.ts';
import type { ServiceClients } from '../service/clients.ts';
import { readBackups } from '../watch/read-backups.ts';
import { type BackupsRow, backupsTable } from './backups-table.ts';
import type { VerbContext } from './verb.ts';

/** True when the schedules of every service could be read. */
export async function probeBackups(
  config: Config,
  clients: ServiceClients,
  { clock, out, stop }: VerbContext,
): Promise<boolean> {
  const rows: BackupsRow[] = [];
  const paths = config.backups.endpoints;
  for (const { api, services } of planTargets(config)) {
    const client = new ServiceClient({ http: clients.get(api), paths });
    for (const { id } of services) {
      const read = await readBackups({
        client,
        serviceId: id,
        before: null,
        nowMs: () => clock.nowMs(),
        signal: stop,
      });
      rows.push(
        read.ok
          ? { id, known: read.known, error: read.backupsError }
          : { id, known: null, error: read.error },
      );
    }
  }
  out.line('backups');
  out.line(backupsTable(rows, clock.nowMs()).replaceAll(/^/gm, '  '));
  return rows.every(({ known }) => known !== null);
}
