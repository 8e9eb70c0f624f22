// `once`: one cycle of everything that is enabled, through the queue, delivered. For cron, and to see that a
// configuration works.

import { loadConfig } from '../config/load.ts';
import { Daemon } from '../daemon/daemon.ts';
import { createLogger } from '../lib/log.ts';
import type { PointState } from '../pipeline/queue/account.ts';
import { countFromNow } from './account-since.ts';
import { backupsTable } from './backups.ts';
import { renderTable } from './table.ts';
import { configOf, readOptions, type Verb, type VerbContext } from './verb.ts';

const VERB = 'once';
/** How long delivery may take before the rest is left in the queue. */
const DELIVER_MS = 60_000;
const REFUSED: readonly PointState[] = ['rejected', 'set_aside', 'evicted'];

export const verb: Verb = {
  summary: 'runs one cycle, delivers it and exits',
  help: `
Usage: prom2otlp once --config FILE

Scrapes every service once, pulls its logs and reads its backups if enabled, sends the result and the queued data, and
prints the outcome. It does not touch a queue that a running daemon holds.

Exit: 0 if everything was accepted, 1 otherwise, 2 for a mistake in the configuration.

Example:
  prom2otlp once --config /etc/prom2otlp.yaml && echo delivered`,
  notNow: 1,
  run: async context => {
    const { args, environment, clock } = context;
    const file = configOf(VERB, readOptions(VERB, args, { config: { type: 'string' } }));
    const config = loadConfig({ file, environment });
    const logger = createLogger({ ...config.log, clock });
    const daemon = await Daemon.open({ config, clock, logger });
    const { account } = daemon.queue;
    const since = countFromNow(account);
    const isDelivered = await daemon.cycle(DELIVER_MS);
    const services = daemon.targets.flatMap(({ last }) => last?.services ?? []);
    const head = ['SERVICE', 'UP', 'SAMPLES', 'POINTS', 'ACCEPTED', 'REJECTED', 'QUEUED', 'REASON'];
    const rows = services.map(({ id, isUp, samples, reason }) => [
      id,
      isUp ? 'yes' : 'no',
      String(samples),
      String(since(id, 'point/made')),
      String(since(id, 'point/accepted')),
      String(since(id, 'point/rejected') + since(id, 'point/set_aside')),
      String(account.queued(id)),
      reason,
    ]);
    context.out.line(renderTable([head, ...rows]));
    const isRefused = REFUSED.some(state => since(null, `point/${state}`) > 0);
    for (const { signal, endpoint, sender } of daemon.senders) {
      const { lastError } = sender.status();
      if (lastError !== null) context.err.line(`${signal} to ${endpoint}: ${lastError}`);
    }
    const areLogsPulled = printLogs(daemon, context);
    const areBackupsRead = printBackups(daemon, context);
    await daemon.stop(AbortSignal.abort());
    const isUp = services.every(service => service.isUp);
    return isUp && areLogsPulled && areBackupsRead && isDelivered && !isRefused ? 0 : 1;
  },
};

/** True when the schedules of every service could be read, or none are watched. */
function printBackups({ backups }: Daemon, { out, clock }: VerbContext): boolean {
  if (backups === null) return true;
  const rows = backups.services.map(({ service, known, error }) => ({
    id: service.id,
    known,
    error,
  }));
  out.line('');
  out.line(backupsTable(rows, clock.nowMs()));
  return backups.services.every(({ isUp }) => isUp === true);
}

/** True when every API's logs were pulled to the end, or none are. */
function printLogs({ logs, queue }: Daemon, { out, err }: VerbContext): boolean {
  if (logs === null) return true;
  const head = ['SERVICE', 'SOURCE', 'LOG', 'RECORDS', 'GAPS', 'DONE UNTIL', 'REASON'];
  const rows = logs.partitions.map(status => [
    status.service,
    status.source,
    status.type,
    String(status.recordCount),
    String(status.gapCount),
    status.doneUntilMs === null ? '-' : new Date(status.doneUntilMs).toISOString(),
    status.lastError ?? '',
  ]);
  out.line('');
  out.line(rows.length === 0 ? 'no logs are listed' : renderTable([head, ...rows]));
  for (const { name, lastFailure } of logs.pullers) {
    if (lastFailure !== null)
      err.line(`logs of ${name}: ${lastFailure.message}; ${lastFailure.hint}`);
  }
  const { points } = queue.stats('logs');
  if (points > 0) err.line(`logs: ${points} records are still queued`);
  return logs.lastEnds.length > 0 && logs.lastEnds.every(({ kind }) => kind === 'done');
}
