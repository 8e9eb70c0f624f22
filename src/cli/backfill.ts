// `backfill`: sends what the service has stored of a span of time, such as a gap. The points go through a queue of their
// own, beside that of the daemon, which may run: they are on disk before they are sent, and counted apart.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BACK_ENDS } from '../config/back-ends.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { Daemon } from '../daemon/daemon.ts';
import { OperatorError } from '../errors.ts';
import { DAY_MS } from '../lib/clock.ts';
import { formatCount } from '../lib/format.ts';
import { silentLogger } from '../lib/log.ts';
import { printableJson } from '../lib/printable.ts';
import { runInSlices } from '../daemon/target-states.ts';
import { translationOf } from '../daemon/targets.ts';
import { SeriesTable } from '../model/series-table.ts';
import { pastOf, translate, type Translation } from '../pipeline.ts';
import { History, type HistoryReport, type Span } from '../daemon/history.ts';
import type { PastPage } from '../pipeline/decode/history-pages.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { flag, format, moment, required, text } from './options.ts';
import { withProgress } from './output.ts';
import { scrapeTargets } from './probe.ts';
import { countFromNow, deliver, printDelivered } from './queue.ts';
import { clientsOf } from './service-access.ts';
import { printTable } from './table.ts';
import {
  action,
  type Call,
  CONFIG_OPTION,
  configOf,
  usageError,
  type Verb,
  type VerbContext,
} from './verb.ts';

/** The service keeps no more. */
const SPAN_MS_MAX = 7 * DAY_MS;
/** Its folder in queue.directory. */
const FOLDER = 'backfill';
/** The series without history that the table names. */
const NAMED_MAX = 10;

const OPTIONS = {
  config: CONFIG_OPTION,
  from: required(moment('the time of the last point before the gap, which is not sent again')),
  to: required(moment('the time of the first point after the gap, which is not sent again')),
  'service-id': text('SERVICE', 'one service alone: its id, or its name', 'services'),
  'dry-run': flag('reads and counts, and sends nothing'),
  force: flag('sends to a back end of which it is not known that it takes older points'),
  format: format('a table, or one JSON object'),
};

export const verb: Verb = {
  name: 'backfill',
  summary: "fills a gap from the service's own history",
  about: `Reads the stored samples between two times, both excluded, and sends them with their own times. Types, units
    and Resources are those that today's page has; series that the page or the history lacks are left out, and the latter
    are named. Their metrics have prom2otlp.backfilled in the metadata. Only raw samples are read, so no value is
    computed for a time at which nobody measured.

    The daemon may run meanwhile. The back end must take points that are older than its newest ones, and cumulative
    counters: a delta after a gap has counted it already.`,
  actions: [action({ options: OPTIONS, run: backfill })],
  exits: {
    0: 'everything was accepted, or --dry-run has read everything',
    1: 'something was not read or not accepted',
    2: 'a mistake on the command line or in the configuration',
  },
  examples: [
    'prom2otlp backfill --config /etc/prom2otlp/prom2otlp.yaml --from 2026-03-04T09:00:00Z --to 2026-03-04T10:00:00Z',
    'prom2otlp backfill --config /etc/prom2otlp/prom2otlp.yaml --from 3h --to 1h --dry-run',
  ],
  isStoppable: true,
  notNow: 1,
};

/** What was read for one target. */
interface Filled extends Pick<HistoryReport, 'series' | 'samples' | 'failure'> {
  readonly withoutHistory: HistoryReport['without'];
  readonly page: string;
  readonly points: number;
}

async function backfill(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { values } = call;
  const config = loadConfig({ file: configOf(call, context.environment), ...context });
  const nowMs = context.clock.nowMs();
  const span = { fromMs: values.from(nowMs), toMs: values.to(nowMs) };
  if (!(span.fromMs < span.toMs && span.toMs <= nowMs))
    throw usageError(call.command, 'expected --from before --to, and both in the past');
  if (span.fromMs < nowMs - SPAN_MS_MAX)
    throw usageError(
      call.command,
      'expected --from within the last 7 days, which the service keeps',
    );
  if (!values['dry-run']) refuseUnfit(config, values.force);
  const daemon = await openDaemon(config, values['dry-run'], context);
  try {
    return await run(daemon, span, call, context);
  } finally {
    await daemon.stop(AbortSignal.abort());
    const { directory } = daemon.config.queue;
    // What is left goes out with the next backfill; what was refused can be inspected.
    const { account, points } = daemon.queue;
    const isClean = points === 0 && (account.total().get('point/set_aside') ?? 0) === 0;
    if (directory !== null && isClean) await rm(directory, { recursive: true, force: true });
  }
}

/** Reads the span, and delivers it unless it is a dry run. */
async function run(
  daemon: Daemon,
  span: Span,
  { values }: Call<typeof OPTIONS>,
  context: VerbContext,
): Promise<number> {
  const { queue, senders } = daemon;
  const isDry = values['dry-run'];
  const since = countFromNow(queue.account);
  if (!isDry) for (const { sender } of senders) sender.start();
  const options = { span, wanted: values['service-id'], isDry };
  const filled = await fill(daemon, options, context);
  if (filled.length === 0) {
    context.err.line('no page has this service');
    return 1;
  }
  const done = isDry ? null : await deliver(queue, senders, Infinity, context, since);
  if (values.format === 'json') {
    const { accepted, rejected, aside: setAside, left, problems } = done ?? {};
    const delivered = done && { accepted, rejected, setAside, left, problems };
    context.out.line(printableJson({ pages: filled, delivered }));
  } else {
    print(filled, context);
    if (done !== null) printDelivered(done, context);
  }
  const isRead = filled.every(({ failure }) => failure === '');
  return isRead && (done === null || done.left + done.refused === 0) ? 0 : 1;
}

/** Throws if older points would be refused, or counted twice. */
function refuseUnfit({ otlp }: Config, isForced: boolean): void {
  if (otlp.temporality === 'delta')
    throw new OperatorError([
      {
        message:
          'cannot backfill: otlp.temporality is delta, and the first delta after a gap has counted it already',
        hint: 'leave the gap: its sums are right',
      },
    ]);
  const profile = otlp.backend === null ? null : BACK_ENDS[otlp.backend];
  const takesOlder = profile !== null && 'takesOlder' in profile;
  if (takesOlder || isForced) return;
  const who = profile === null ? 'the back end, which otlp.backend does not name,' : profile.title;
  throw new OperatorError([
    {
      message: `cannot backfill: nothing says that ${who} takes points older than its newest ones`,
      hint: 'if it does, add --force',
    },
  ]);
}

/** A daemon that is never started: a queue of its own, senders, and what the inventory says of the services. */
function openDaemon(config: Config, isDry: boolean, { clock }: VerbContext): Promise<Daemon> {
  const { directory, metrics } = config.queue;
  const queue = {
    ...config.queue,
    directory: directory === null || isDry ? null : join(directory, FOLDER),
    metrics: { ...metrics, maxAgeMs: Infinity },
  };
  return Daemon.open({ config: { ...config, queue }, clock, logger: silentLogger });
}

interface Fill {
  readonly span: Span;
  /** The id of the only service to fill; undefined for all. */
  readonly wanted: string | undefined;
  /** True: nothing is queued. */
  readonly isDry: boolean;
}

/** Reads the span for each target; what was read is in the queue. */
async function fill(
  daemon: Daemon,
  { span, wanted, isDry }: Fill,
  context: VerbContext,
): Promise<readonly Filled[]> {
  const { config, inventory } = daemon;
  const queue = isDry ? null : daemon.queue;
  const { clock, err, stop } = context;
  const clients = clientsOf(clock);
  const filled: Filled[] = [];
  const scraped = scrapeTargets(config, { clock, serviceId: wanted });
  for await (const one of scraped) {
    if (one.kind === 'failure') {
      err.line(`${one.who}: ${one.line}`);
      filled.push({
        page: one.who,
        series: 0,
        withoutHistory: [],
        samples: 0,
        failure: one.line,
        points: 0,
      });
      continue;
    }
    const { target } = one;
    const { backfill, limits } = config.metrics;
    const http = clients.get(target.api);
    const takes = (id: string): boolean =>
      wanted === undefined ? target.configured.has(id) : id === wanted;
    const history = new History({ http, backfill, limits, page: one.page, takes });
    const services = one.config.services.map(service => inventory?.known(service) ?? service);
    const past = pastOf(translationOf(target, { ...one.config, services }, new SeriesTable()));
    const writer = new WireWriter();
    let points = 0;
    const read = async (): Promise<void> => {
      for await (const page of history.pages(span, stop)) {
        points += await queuePage(page, { past, writer, queue });
        await roomIn(queue, config, context);
      }
    };
    const state = (): string =>
      `${target.name}: ${formatCount(points)} points until ${new Date(history.report.doneUntilMs).toISOString()}`;
    await withProgress(context, state, read());
    const { series, without: withoutHistory, samples, failure } = history.report;
    if (failure !== '') err.line(`${target.name}: ${failure}`);
    filled.push({ page: target.name, series, withoutHistory, samples, failure, points });
  }
  await clients.close();
  return filled;
}

interface QueuePage {
  readonly past: Translation;
  readonly writer: WireWriter;
  readonly queue: Queue | null;
}

/** Returns the number of points. */
async function queuePage(page: PastPage, { past, writer, queue }: QueuePage): Promise<number> {
  const { bytes, format: form, timeMs } = page;
  const time = { startedAtMs: timeMs, monotonicMs: timeMs, durationMs: 0, serverAtMs: Number.NaN };
  const scraped = { bytes, format: form, wireBytes: bytes.length, ...time };
  const { batch, derived } = await runInSlices(
    translate(past, { kind: 'page', page: scraped }, writer),
  );
  if (batch.parts.length > 0)
    await queue?.commit({ batches: [batch], state: [], reads: derived.reads });
  return batch.parts.reduce((sum, part) => sum + part.points, 0);
}

/** Waits while the queue is half full: the oldest rows of a full queue would be lost. */
async function roomIn(
  queue: Queue | null,
  config: Config,
  { clock, stop }: VerbContext,
): Promise<void> {
  const most = config.queue.metrics.maxBytes / 2;
  const isHalfFull = (): boolean => (queue?.size('metrics').bytes ?? 0) > most;
  while (isHalfFull() && !stop.aborted) await clock.sleep(1000, stop);
}

function print(filled: readonly Filled[], { out, err }: VerbContext): void {
  const head = ['PAGE', 'SERIES', 'WITHOUT HISTORY', 'SAMPLES', 'POINTS'];
  const rows = filled.map(({ page, series, withoutHistory, samples, points }) => [
    page,
    ...[series, withoutHistory.length, samples, points].map(formatCount),
  ]);
  printTable(out, [head, ...rows], { empty: 'no page', isWhole: true });
  for (const { withoutHistory, samples } of filled) {
    if (samples === 0) continue;
    const names = [...new Set(withoutHistory.map(key => key.split('{', 1)[0] ?? key))];
    const more = names.length > NAMED_MAX ? `, and ${names.length - NAMED_MAX} more` : '';
    if (names.length > 0)
      err.line(`without history: ${names.slice(0, NAMED_MAX).join(', ')}${more}`);
  }
}
