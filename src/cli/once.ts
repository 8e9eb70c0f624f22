// `once`: runs one cycle of everything that is enabled and delivers it through the queue. For cron, and to test a
// configuration.

import { loadConfig } from '../config/load.ts';
import { Daemon } from '../daemon/daemon.ts';
import { formatCount } from '../lib/format.ts';
import { printableJson } from '../lib/printable.ts';
import { createLogger } from '../lib/log.ts';
import type { PointState } from '../pipeline/queue/account.ts';
import { backupsTable } from './backups.ts';
import { format } from './options.ts';
import { createMeter, withProgress } from './output.ts';
import { countFromNow } from './queue.ts';
import { labelsOf, printTable, yesOrNo } from './table.ts';
import { action, type Call, CONFIG_OPTION, configOf, type Verb, type VerbContext } from './verb.ts';

/** How long delivery may take before the rest stays in the queue, even if the back end goes on accepting. */
const DELIVER_MS = 60_000;
type CountSince = ReturnType<typeof countFromNow>;
const REFUSED: readonly PointState[] = ['rejected', 'set_aside', 'evicted'];

const OPTIONS = { config: CONFIG_OPTION, format: format('tables, or one JSON object') };

export const verb: Verb = {
  name: 'once',
  summary: 'runs one cycle, delivers it and exits',
  about: `Scrapes every service once, pulls its logs and reads its backups if enabled, sends the result and the queued
    data, and prints the outcome. It asks the service once, without retries, and does not touch a queue that a
    running daemon holds. It stops delivering after a minute, or when the back end has accepted nothing for
    otlp.timeout. The rest stays in the queue.`,
  actions: [action({ options: OPTIONS, run: once })],
  exits: {
    0: 'everything was accepted',
    1: 'something was not read or not accepted, or a daemon holds the queue',
    2: 'there is a mistake in the configuration',
  },
  examples: ['prom2otlp once --config /etc/prom2otlp/prom2otlp.yaml && echo delivered'],
  notNow: 1,
};

async function once(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { environment, clock } = context;
  const config = loadConfig({ file: configOf(call, environment), environment });
  const logger = createLogger({ ...config.log, clock, environment });
  const daemon = await Daemon.open({ config, clock, logger });
  await withProgress(context, 'looking for services', daemon.lookAround());
  const since = countFromNow(daemon.queue.account);
  const { metrics, logs } = config.otlp;
  const cycle = daemon.cycle(DELIVER_MS, Math.max(metrics.timeoutMs, logs.timeoutMs));
  const meter = createMeter(clock, amount => `${formatCount(amount)} points`);
  const step = (): string => {
    const { targets } = daemon;
    const scraped = targets.filter(({ status }) => status.scrapeCount > 0).length;
    if (scraped < targets.length) return `scraping: ${scraped} of ${targets.length} pages`;
    const accepted = since(null, 'point/accepted');
    return `pulling and delivering: ${meter(accepted, accepted + daemon.queue.points)}`;
  };
  const isDelivered = await withProgress(context, step, cycle);
  const services = daemon.targets.flatMap(target => target.services);
  const report = reportOf(daemon, since);
  if (call.values.format === 'json') context.out.line(printableJson(report));
  else printReport(daemon, report, context);
  const isRefused = REFUSED.some(state => since(null, `point/${state}`) > 0);
  for (const { signal, endpoint, sender } of daemon.senders) {
    const { lastError } = sender.status();
    if (lastError !== null) context.err.line(`${signal} to ${endpoint}: ${lastError}`);
  }
  const areLogsPulled = tellLogs(daemon, context);
  const areBackupsRead = daemon.backups?.services.every(({ isUp }) => isUp === true) ?? true;
  await daemon.stop(AbortSignal.abort());
  const { auto, shard } = config;
  // A shard may have none of the services that were found.
  const isAnyFound = auto === null || shard.count > 1 || services.length > 0;
  const isUp =
    isAnyFound &&
    daemon.targets.every(({ status }) => status.lastReason === '') &&
    services.every(({ isUp, reason }) => isUp || reason === 'stopped');
  return isUp && areLogsPulled && areBackupsRead && isDelivered && !isRefused ? 0 : 1;
}

/** What a cycle did, by service. */
function reportOf({ targets, queue, logs, backups }: Daemon, since: CountSince) {
  const services = targets.flatMap(target => target.services);
  return {
    services: services.map(({ id, isUp, samples, reason }) => ({
      service: id,
      isUp,
      samples,
      points: since(id, 'point/made'),
      accepted: since(id, 'point/accepted'),
      rejected: since(id, 'point/rejected') + since(id, 'point/set_aside'),
      queued: queue.account.queued(id),
      reason,
    })),
    logs: logs?.meter.partitions.map(one => ({
      service: one.service,
      source: one.source,
      log: one.type,
      records: one.recordCount,
      gaps: one.gapCount,
      doneUntil: one.doneUntilMs === null ? null : new Date(one.doneUntilMs).toISOString(),
      reason: one.lastError ?? '',
    })),
    backups: backups?.services.map(({ service, known, isUp, error }) => ({
      service: service.id,
      isUp,
      schedules: known?.schedules.length ?? null,
      reason: error?.message ?? '',
    })),
  };
}

function printReport(
  { backups, config }: Daemon,
  { services, logs }: ReturnType<typeof reportOf>,
  { out, clock }: VerbContext,
): void {
  const labelOf = labelsOf(config);
  const head = ['SERVICE', 'UP', 'SAMPLES', 'POINTS', 'ACCEPTED', 'REJECTED', 'QUEUED', 'REASON'];
  const rows = services.map(({ service, isUp, reason, ...counts }) => [
    labelOf(service),
    yesOrNo(isUp),
    ...Object.values(counts).map(String),
    reason,
  ]);
  printTable(out, [head, ...rows], { empty: 'no service was scraped', isWhole: true });
  if (logs !== undefined) {
    const logHead = ['SERVICE', 'SOURCE', 'LOG', 'RECORDS', 'GAPS', 'DONE UNTIL', 'REASON'];
    const logRows = logs.map(({ service, doneUntil, records, gaps, reason, ...log }) => [
      labelOf(service),
      ...Object.values(log),
      ...[records, gaps].map(String),
      doneUntil ?? '-',
      reason,
    ]);
    out.line('');
    printTable(out, [logHead, ...logRows], { empty: 'no logs are listed', isWhole: true });
  }
  if (backups === null) return;
  out.line('');
  out.line(backupsTable(backups.services, labelOf, clock.nowMs()));
}

/** Prints what is wrong. True when every API's logs were pulled to the end, or logs are not pulled. */
function tellLogs({ logs, queue }: Daemon, { err }: VerbContext): boolean {
  if (logs === null) return true;
  for (const { name, lastEnd } of logs.pullers) {
    if (lastEnd?.kind === 'unreachable')
      err.line(`logs of ${name}: ${lastEnd.failure.message}; ${lastEnd.failure.hint}`);
  }
  const { points } = queue.size('logs');
  if (points > 0) err.line(`logs: ${points} records are still queued`);
  return logs.pullers.length > 0 && logs.pullers.every(({ lastEnd }) => lastEnd?.kind === 'done');
}
