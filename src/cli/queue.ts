// `queue`: a look into the durable queue, and the ways out of it without the daemon.

import { type FileHandle, open } from 'node:fs/promises';
import type { Config, OtlpSignalConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { parseDuration } from '../config/units.ts';
import { causeText, OperatorError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { formatAge, formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import { silentLogger } from '../lib/log.ts';
import { printableJson } from '../lib/printable.ts';
import { untilAborted } from '../lib/bell.ts';
import { type Signal, SIGNALS } from '../model/batch.ts';
import { otlpJson } from '../pipeline/encode/otlp-json.ts';
import { decompress } from '../pipeline/queue/compression.ts';
import { openQueue } from '../pipeline/queue/open-queue.ts';
import { QueueView } from '../pipeline/queue/queue-view.ts';
import type { Queue, SetAside } from '../pipeline/queue/queue.ts';
import { SET_ASIDE_ROWS_MAX } from '../pipeline/queue/queue-file.ts';
import { type OpenSender, openSenders } from '../pipeline/send/open-senders.ts';
import { type AccountReport, accountReport } from '../status/account-report.ts';
import { countFromNow } from './account-since.ts';
import { renderTable } from './table.ts';
import {
  type Action,
  configOf,
  readOptions,
  type TextSink,
  usageError,
  type Verb,
  type VerbContext,
  runAction,
} from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  inspect: queueInspect,
  export: queueExport,
  drain: queueDrain,
};

export const verb: Verb = {
  summary: 'the durable queue: queue inspect | export | drain',
  help: `
Usage: prom2otlp queue inspect --config FILE [--json]
       prom2otlp queue export --config FILE [--signal metrics|logs] [--output FILE]
       prom2otlp queue drain --config FILE [--endpoint URL] [--for DURATION]

Works on the queue in queue.directory. inspect and export work while the daemon runs.

inspect   sizes and ages by signal and service, refused points with the back end's words, the account
  --json                  the same as one JSON object, with a sample of each refused request

export    the queued requests as OTLP/JSON, one per line, oldest first; removes nothing
  --signal metrics|logs   one signal alone
  --output FILE           into a new file instead of stdout

drain     delivers the queue and removes accepted data; refuses while a daemon holds the queue
  --endpoint URL          to this receiver instead of the configured one, in the configured protocol. Headers
                          of the configuration go to the configured origins only
  --for DURATION          stops after this time, such as 10m; the rest stays in the queue

Exit: 0 if done; 1 if something is damaged, refused or left, or the queue is held; 2 for a mistake.

Examples:
  prom2otlp queue inspect --config /etc/prom2otlp.yaml
  prom2otlp queue export --config /etc/prom2otlp.yaml --signal logs | gzip > logs.jsonl.gz
  prom2otlp queue drain --config /etc/prom2otlp.yaml --endpoint http://localhost:4318`,
  isStoppable: true,
  notNow: 1,
  run: context => runAction('queue', ACTIONS, context),
};

// What the verbs for the queue have in common: the configuration, and in it a directory.

/** The configuration that `--config` named, and its queue's directory. A queue in memory is a mistake. */
function loadQueueConfig(
  verb: string,
  values: { readonly config?: string | undefined },
  context: VerbContext,
): { readonly config: Config; readonly directory: string } {
  const file = configOf(verb, values);
  const config = loadConfig({ file, environment: context.environment });
  const { directory } = config.queue;
  if (directory !== null) return { config, directory };
  const message = `cannot look into the queue of ${JSON.stringify(file)}: it is in the memory of the daemon`;
  const hint = 'set queue.directory, or ask the daemon itself for /status.json';
  throw new OperatorError([{ code: 'E_QUEUE_OPEN', key: 'queue.directory', message, hint }]);
}

// `queue inspect`: what waits, for whom, since when; what was refused for good; and the account. As tables, or as
// one JSON object with the same numbers.

const INSPECT = 'queue inspect';
/** Entries in the JSON, groups in the table. */
const SET_ASIDE_SHOWN_MAX = 20;

/** Times are milliseconds since the epoch. */
interface Waiting {
  readonly signal: Signal;
  requests: number;
  points: number;
  oldestAtMs: number | null;
  newestAtMs: number | null;
}

interface Inspection {
  readonly directory: string;
  readonly diskBytes: number;
  readonly corruptFiles: readonly string[];
  readonly signals: readonly (Waiting & { readonly bytes: number; readonly maxBytes: number })[];
  readonly services: readonly (Waiting & { readonly service: string })[];
  readonly setAside: readonly SetAside[];
  readonly account: AccountReport;
}

function queueInspect(context: VerbContext): Promise<number> {
  const values = readOptions(INSPECT, context.args, {
    config: { type: 'string' },
    json: { type: 'boolean' },
  });
  const { config, directory } = loadQueueConfig(INSPECT, values, context);
  const view = QueueView.open(directory);
  try {
    const inspection = inspect(view, config);
    if (values.json === true) context.out.line(printableJson(jsonOf(inspection)));
    else print(inspection, context.out, context.clock.nowMs());
  } finally {
    view.close();
  }
  return Promise.resolve(0);
}

function inspect(view: QueueView, config: Config): Inspection {
  const services = new Map<string, Waiting & { readonly service: string }>();
  const signals = SIGNALS.map(signal => {
    const sum = { ...nothing(signal), bytes: 0, maxBytes: config.queue[signal].maxBytes };
    for (const head of view.heads(signal)) {
      sum.bytes += head.countedBytes;
      add(sum, head.points, head.madeAtMs);
      for (const { service, points } of head.parts) {
        const key = `${signal} ${service}`;
        const waiting = services.get(key) ?? { service, ...nothing(signal) };
        services.set(key, waiting);
        add(waiting, points, head.madeAtMs);
      }
    }
    return sum;
  });
  return {
    directory: view.directory,
    diskBytes: view.diskBytes(),
    corruptFiles: view.corruptFiles(),
    signals,
    services: [...services.values()],
    setAside: view.setAside(SET_ASIDE_ROWS_MAX),
    account: accountReport(view.account()),
  };
}

function nothing(signal: Signal): Waiting {
  return { signal, requests: 0, points: 0, oldestAtMs: null, newestAtMs: null };
}

function add(waiting: Waiting, points: number, madeAtMs: number): void {
  waiting.requests++;
  waiting.points += points;
  waiting.oldestAtMs = Math.min(waiting.oldestAtMs ?? madeAtMs, madeAtMs);
  waiting.newestAtMs = Math.max(waiting.newestAtMs ?? madeAtMs, madeAtMs);
}

function print(inspection: Inspection, out: TextSink, nowMs: number): void {
  const { directory, diskBytes, corruptFiles, signals, services, setAside, account } = inspection;
  const section = (title: string, rows: readonly (readonly string[])[]): void => {
    if (rows.length <= 1) return;
    out.line('');
    if (title !== '') out.line(title);
    out.line(renderTable(rows, { width: out.columns }));
  };
  out.line(`${directory}: ${formatBytes(diskBytes)} on disk`);
  for (const file of corruptFiles)
    out.line(`damaged, put aside and kept: ${file}; look at it, then delete it`);
  const ages = (waiting: Waiting): readonly string[] =>
    [waiting.oldestAtMs, waiting.newestAtMs].map(atMs => ageOf(atMs, nowMs));
  section('', [
    ['SIGNAL', 'REQUESTS', 'POINTS', 'SIZE', 'LIMIT', 'OLDEST', 'NEWEST'],
    ...signals.map(one => [
      one.signal,
      ...[one.requests, one.points].map(formatCount),
      ...[one.bytes, one.maxBytes].map(formatBytes),
      ...ages(one),
    ]),
  ]);
  section('waiting, by service', [
    ['SERVICE', 'SIGNAL', 'REQUESTS', 'POINTS', 'OLDEST', 'NEWEST'],
    ...services.map(one => [
      one.service,
      one.signal,
      ...[one.requests, one.points].map(formatCount),
      ...ages(one),
    ]),
  ]);
  section('refused for good, newest first', [
    ['LAST', 'SERVICE', 'SIGNAL', 'REQUESTS', 'POINTS', 'REASON'],
    ...groupSetAside(setAside).map(({ last, requests, points }) => [
      ageOf(last.atMs, nowMs),
      last.service,
      last.signal,
      ...[requests, points].map(formatCount),
      last.reason,
    ]),
  ]);
  section('the account', accountRows(account));
}

interface SetAsideGroup {
  readonly last: SetAside;
  requests: number;
  points: number;
}

/** A split leaves many pieces, all refused in the same words. */
function groupSetAside(newestFirst: readonly SetAside[]): readonly SetAsideGroup[] {
  const groups = new Map<string, SetAsideGroup>();
  for (const entry of newestFirst) {
    const key = JSON.stringify([entry.service, entry.signal, entry.reason]);
    const group = groups.get(key) ?? { last: entry, requests: 0, points: 0 };
    groups.set(key, group);
    group.requests++;
    group.points += entry.points;
  }
  return [...groups.values()].slice(0, SET_ASIDE_SHOWN_MAX);
}

function accountRows({ total, services }: AccountReport): readonly (readonly string[])[] {
  const head = ['SERVICE', 'SAMPLES', 'DROPPED', 'POINTS', 'ACCEPTED', 'REJECTED'];
  const rows = [...Object.entries(services), ['total', total] as const];
  return [
    [...head, 'SET ASIDE', 'EVICTED', 'QUEUED'],
    ...rows.map(([id, { samples, points }]) => [
      id,
      ...[samples.read, samples.dropped, points.made, points.accepted].map(formatCount),
      ...[points.rejected, points.setAside, points.evicted, points.queued].map(formatCount),
    ]),
  ];
}

function ageOf(atMs: number | null, nowMs: number): string {
  return atMs === null ? '-' : formatAge(nowMs - atMs);
}

function jsonOf({ signals, services, setAside, ...rest }: Inspection): unknown {
  return {
    ...rest,
    signals: signals.map(withTimes),
    services: services.map(withTimes),
    setAside: setAside.slice(0, SET_ASIDE_SHOWN_MAX).map(({ atMs, sample, ...one }) => ({
      at: timeOf(atMs),
      ...one,
      sample: sampleOf(one.signal, sample),
    })),
  };
}

function withTimes({ oldestAtMs, newestAtMs, ...one }: Waiting): unknown {
  return { ...one, oldestAt: timeOf(oldestAtMs), newestAt: timeOf(newestAtMs) };
}

function timeOf(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

/** The refused request; null where its bytes are those of a row that was damaged on disk, or none were kept. */
function sampleOf(signal: Signal, sample: Buffer): unknown {
  try {
    return sample.length === 0 ? null : JSON.parse(otlpJson(signal, sample));
  } catch {
    return null;
  }
}

// `queue export`: what waits as OTLP/JSON, one request a line, oldest first. One request at a time is in memory,
// however much waits and however slowly it is read.

const EXPORT = 'queue export';

/** Takes one line; false when no more is wanted. */
type Write = (line: string) => Promise<boolean>;

async function queueExport(context: VerbContext): Promise<number> {
  const values = readOptions(EXPORT, context.args, {
    config: { type: 'string' },
    signal: { type: 'string' },
    output: { type: 'string' },
  });
  const signals = readSignals(values.signal);
  const { directory } = loadQueueConfig(EXPORT, values, context);
  const view = QueueView.open(directory);
  const file = values.output === undefined ? null : await createFile(values.output);
  const write: Write =
    file === null
      ? async line => {
          context.out.line(line);
          return await context.out.taken();
        }
      : async line => {
          await file.appendFile(`${line}\n`);
          return !context.stop.aborted;
        };
  try {
    const { written, damaged } = await exportRows(view, signals, write);
    context.err.line(`${String(written)} requests exported; nothing was removed from the queue`);
    if (damaged > 0) context.err.line(`${String(damaged)} requests are damaged and were left out`);
    return damaged > 0 || context.stop.aborted ? 1 : 0;
  } catch (error) {
    context.err.line(`cannot export the queue: ${causeText(error)}`);
    return 1;
  } finally {
    await file?.close();
    view.close();
  }
}

async function exportRows(
  view: QueueView,
  signals: readonly Signal[],
  write: Write,
): Promise<{ readonly written: number; readonly damaged: number }> {
  let written = 0;
  let damaged = 0;
  for (const signal of signals)
    for (const row of view.rows(signal)) {
      const bytes = row && (await decompress(row.encoding, row.body, row.rawBytes));
      if (bytes === null) damaged++;
      else if (await write(otlpJson(signal, bytes))) written++;
      else return { written, damaged };
    }
  return { written, damaged };
}

function readSignals(word: string | undefined): readonly Signal[] {
  if (word === undefined) return SIGNALS;
  if (word === 'metrics' || word === 'logs') return [word];
  throw usageError(EXPORT, `expected --signal metrics or logs, got ${JSON.stringify(word)}`);
}

/** Readable by its owner alone: log lines may be in it. */
async function createFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    const message = `cannot create ${JSON.stringify(path)}: ${causeText(error)}`;
    const hint = 'name a file that does not exist, in a directory that does';
    throw new OperatorError([{ code: 'E_FILE_READ', message, hint }], { cause: error });
  }
}

// `queue drain`: delivers what waits without the daemon, to the configured back end or to another one, and removes
// what was accepted. The same queue and senders as in the daemon: the lock, the order, retries and the account hold.

const DRAIN = 'queue drain';
const PROGRESS_MS = 2000;

async function queueDrain(context: VerbContext): Promise<number> {
  const values = readOptions(DRAIN, context.args, {
    config: { type: 'string' },
    endpoint: { type: 'string' },
    for: { type: 'string' },
  });
  const forMs = values.for === undefined ? Infinity : parseDuration(values.for);
  if (forMs === undefined) throw usageError(DRAIN, 'expected --for as 10m');
  const { config, directory } = loadQueueConfig(DRAIN, values, context);
  // Opening the queue would create one.
  QueueView.open(directory).close();
  const otlp =
    values.endpoint === undefined ? config.otlp : redirect(config, values.endpoint, context.err);
  const { clock } = context;
  const counters = new Counters();
  const queue = await openQueue({ config: ageless(config), clock, counters, logger: silentLogger });
  try {
    const options = { queue, clock, counters, logger: silentLogger };
    const senders = await openSenders({ config: { ...config, otlp }, ...options });
    return await deliver({ queue, senders, forMs, context });
  } finally {
    await queue.close();
  }
}

interface Draining {
  readonly queue: Queue;
  readonly senders: readonly OpenSender[];
  readonly forMs: number;
  readonly context: VerbContext;
}

async function deliver({ queue, senders, forMs, context }: Draining): Promise<number> {
  const { clock, err, out, stop } = context;
  const startedMs = clock.monotonicMs();
  const totalPoints = leftPoints(queue);
  const since = countFromNow(queue.account);
  for (const { sender } of senders) sender.start();
  const ended = new AbortController();
  const progress = reportProgress(() => progressLine(queue, senders, totalPoints), {
    clock,
    err,
    stop: ended.signal,
  });
  const flushed = Promise.all(senders.map(({ sender }) => sender.flush(forMs)));
  await Promise.race([flushed, untilAborted(stop)]);
  ended.abort();
  await progress;
  // Before the senders close, which ends their states.
  const problems = problemsOf(queue, senders);
  await Promise.all(senders.map(({ sender }) => sender.close()));
  const accepted = since(null, 'point/accepted');
  const [rejected, aside] = [since(null, 'point/rejected'), since(null, 'point/set_aside')];
  const left = leftPoints(queue);
  const took = formatDuration(clock.monotonicMs() - startedMs);
  const refused = `rejected ${formatCount(rejected)}, set aside ${formatCount(aside)}`;
  out.line(
    `accepted ${formatCount(accepted)} points in ${took}, ${refused}, left ${formatCount(left)}`,
  );
  for (const problem of problems) err.line(problem);
  return left + rejected + aside === 0 ? 0 : 1;
}

async function reportProgress(
  line: () => string,
  { clock, err, stop }: { readonly clock: Clock; readonly err: TextSink; stop: AbortSignal },
): Promise<void> {
  for (;;) {
    await clock.sleep(PROGRESS_MS, stop);
    if (stop.aborted) return;
    err.line(line());
  }
}

function progressLine(queue: Queue, senders: readonly OpenSender[], totalPoints: number): string {
  const left = leftPoints(queue);
  const percent = Math.floor((100 * (totalPoints - left)) / Math.max(totalPoints, 1));
  const done = `${formatCount(totalPoints - left)} of ${formatCount(totalPoints)} points`;
  return [`${done} (${String(percent)}%)`, ...problemsOf(queue, senders)].join('; ');
}

/** Why points of a signal still wait. */
function problemsOf(queue: Queue, senders: readonly OpenSender[]): readonly string[] {
  return senders.flatMap(({ signal, endpoint, sender }) => {
    const { lastError, state } = sender.status();
    const isStuck = queue.stats(signal).rows > 0 && lastError !== null && state !== 'sending';
    return isStuck ? [`${signal} to ${endpoint}: ${state}: ${lastError}`] : [];
  });
}

function leftPoints(queue: Queue): number {
  return queue.stats('metrics').points + queue.stats('logs').points;
}

/** Whoever drains wants also what the daemon would give up for its age. */
function ageless(config: Config): Config {
  const { queue } = config;
  return { ...config, queue: { ...queue, metrics: { ...queue.metrics, maxAgeMs: Infinity } } };
}

/** The settings for another receiver. What identifies us at the configured one is not shown to another. */
function redirect({ otlp }: Config, endpoint: string, err: TextSink): Config['otlp'] {
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw usageError(DRAIN, 'expected --endpoint as http://localhost:4318, without a user');
  let isWithheld = false;
  const settingsOf = (signal: Signal): OtlpSignalConfig => {
    const configured = signal === 'metrics' ? otlp.metricsEndpoint : otlp.logsEndpoint;
    const { headers, ...settings } = otlp[signal];
    if (new URL(configured).origin === url.origin) return { headers, ...settings };
    isWithheld ||= Object.keys(headers).length > 0;
    return { headers: {}, ...settings };
  };
  const [metrics, logs] = [settingsOf('metrics'), settingsOf('logs')];
  if (isWithheld)
    err.line(
      'otlp.headers are not sent to another origin; for a receiver that wants some, use a configuration of its own',
    );
  const base = url.href.replace(/\/+$/, '');
  const endpointOf = (signal: Signal): string =>
    otlp[signal].protocol === 'grpc' ? base : `${base}/v1/${signal}`;
  return {
    ...otlp,
    metrics,
    logs,
    metricsEndpoint: endpointOf('metrics'),
    logsEndpoint: endpointOf('logs'),
  };
}
