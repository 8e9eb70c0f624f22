// `queue`: inspects, exports or delivers the durable queue without the daemon.

import type { Config, OtlpSignalConfig } from '../config/config.ts';
import { readProxyVariables } from '../config/proxy-variables.ts';
import { readAlone } from '../config/declare.ts';
import { otlp as otlpKeys } from '../config/keys.ts';
import { loadConfig } from '../config/load.ts';
import { causeText, OperatorError } from '../errors.ts';
import { Counters } from '../lib/counters.ts';
import { formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import { silentLogger } from '../lib/log.ts';
import { escapeHarmful, printableJson } from '../lib/printable.ts';
import { untilAborted } from '../lib/bell.ts';
import { type Signal, SIGNALS } from '../model/batch.ts';
import { otlpJson } from '../pipeline/encode/otlp-json.ts';
import { decompress } from '../pipeline/queue/compression.ts';
import { type Account, QUEUE_COUNTERS } from '../pipeline/queue/account.ts';
import type { SetAside } from '../pipeline/queue/commit.ts';
import { openQueue } from '../pipeline/queue/open-queue.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { existingQueue, QueueView } from '../pipeline/queue/queue-view.ts';
import { rowBytes, sumPoints } from '../pipeline/queue/rows.ts';
import { SET_ASIDE_ROWS_MAX } from '../pipeline/queue/queue-file.ts';
import { type OpenSender, openSenders } from '../pipeline/send/open-senders.ts';
import { GRACE_MS } from '../pipeline/send/sender.ts';
import { type AccountReport, accountReport } from '../status/account-report.ts';
import { SET_ASIDE_SHOWN_MAX } from '../status/delivery-status.ts';
import { shown } from '../status/times.ts';
import { createMeter, withProgress } from './output.ts';
import { ageOf, labelsOf, printTable, type Rows } from './table.ts';
import { choice, duration, file, text, format } from './options.ts';
import {
  action,
  type Call,
  CONFIG_OPTION,
  type ConfigCall,
  configOf,
  refuseFile,
  STDOUT,
  usageError,
  type Verb,
  type VerbContext,
  writeNewFile,
} from './verb.ts';

const INSPECT_OPTIONS = {
  config: CONFIG_OPTION,
  format: format('tables, or one JSON object with a sample of each refused request'),
};
const EXPORT_OPTIONS = {
  config: CONFIG_OPTION,
  signal: choice(SIGNALS, 'one signal alone'),
  output: file('a new file, by default - for stdout', 'o'),
};
const DRAIN_OPTIONS = {
  config: CONFIG_OPTION,
  endpoint: text(
    'URL',
    `to this receiver instead of the configured one, in the configured protocol. Headers of the configuration go to
      the configured origins only`,
  ),
  for: duration('stops after this time; the rest stays in the queue'),
};

export const verb: Verb = {
  name: 'queue',
  summary: 'the durable queue',
  about: 'Works on the queue in queue.directory. inspect and export work while the daemon runs.',
  actions: [
    action({
      name: 'inspect',
      summary:
        "sizes and ages by signal and service, refused points with the back end's words, the account",
      options: INSPECT_OPTIONS,
      run: queueInspect,
    }),
    action({
      name: 'export',
      summary: 'the queued requests as OTLP/JSON, one per line, oldest first; removes nothing',
      options: EXPORT_OPTIONS,
      run: queueExport,
    }),
    action({
      name: 'drain',
      summary:
        'delivers the queue and removes accepted data; refuses while a daemon holds the queue',
      options: DRAIN_OPTIONS,
      run: queueDrain,
    }),
  ],
  exits: {
    0: 'done',
    1: 'something is damaged, refused or left, or the queue is held',
    2: 'a mistake on the command line or in the configuration, or a file cannot be read or written',
  },
  examples: [
    'prom2otlp queue inspect --config /etc/prom2otlp/prom2otlp.yaml',
    'prom2otlp queue export --config /etc/prom2otlp/prom2otlp.yaml --signal logs | gzip > logs.jsonl.gz',
    'prom2otlp queue drain --config /etc/prom2otlp/prom2otlp.yaml --endpoint http://localhost:4318',
  ],
  isStoppable: true,
  notNow: 1,
};

/** The configuration and its queue's directory. A queue in memory is a mistake. */
function loadQueueConfig(
  call: ConfigCall,
  { environment }: Pick<VerbContext, 'environment'>,
): { readonly config: Config; readonly directory: string } {
  const file = configOf(call, environment);
  const config = loadConfig({ file, environment });
  const { directory } = config.queue;
  if (directory !== null) return { config, directory };
  const message = `cannot look into the queue of ${JSON.stringify(file)}: it is in the memory of the daemon`;
  const hint = 'set queue.directory, or ask the daemon itself for /status.json';
  throw new OperatorError([{ key: 'queue.directory', message, hint }]);
}

// `queue inspect`: the queued requests by signal and service, the requests that were refused for good, and the account. As
// tables, or as one JSON object with the same numbers.

/** Times are milliseconds since the epoch. */
interface Waiting {
  readonly signal: Signal;
  requests: number;
  points: number;
  oldestAtMs: number | null;
  newestAtMs: number | null;
}

type Inspection = ReturnType<typeof inspect>;

function queueInspect(call: Call<typeof INSPECT_OPTIONS>, context: VerbContext): number {
  const { config, directory } = loadQueueConfig(call, context);
  const view = QueueView.open(directory);
  try {
    const inspection = inspect(view, config);
    if (call.values.format === 'json') context.out.line(printableJson(jsonOf(inspection)));
    else print(inspection, labelsOf(config), context);
  } finally {
    view.close();
  }
  return 0;
}

function inspect(view: QueueView, config: Config) {
  const services = new Map<string, Waiting & { readonly service: string }>();
  const signals = SIGNALS.map(signal => {
    const sum = { ...nothing(signal), bytes: 0, maxBytes: config.queue[signal].maxBytes };
    for (const head of view.heads(signal)) {
      sum.bytes += rowBytes(head);
      add(sum, sumPoints(head.parts), head.madeAtMs);
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

function print(
  inspection: Inspection,
  labelOf: (id: string) => string,
  { out, clock }: Pick<VerbContext, 'out' | 'clock'>,
): void {
  const nowMs = clock.nowMs();
  const { directory, diskBytes, corruptFiles, signals, services, setAside, account } = inspection;
  const section = (title: string, rows: Rows): void => {
    if (rows.length <= 1) return;
    out.line('');
    if (title !== '') out.line(title);
    printTable(out, rows, { key: Math.max(0, rows[0]?.indexOf('SERVICE') ?? 0) });
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
      labelOf(one.service),
      one.signal,
      ...[one.requests, one.points].map(formatCount),
      ...ages(one),
    ]),
  ]);
  section('refused for good, newest first', [
    ['LAST', 'SERVICE', 'SIGNAL', 'REQUESTS', 'POINTS', 'REASON'],
    ...groupSetAside(setAside).map(({ last, requests, points }) => [
      ageOf(last.atMs, nowMs),
      labelOf(last.service),
      last.signal,
      ...[requests, points].map(formatCount),
      last.reason,
    ]),
  ]);
  section('the account', accountRows(account, labelOf));
}

interface SetAsideGroup {
  readonly last: SetAside;
  requests: number;
  points: number;
}

/** Groups requests by service, signal and reason: a request that was split leaves many pieces with one reason. */
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

function accountRows({ total, services }: AccountReport, labelOf: (id: string) => string): Rows {
  const head = ['SERVICE', 'SAMPLES', 'DROPPED', 'POINTS', 'ACCEPTED', 'REJECTED'];
  const rows = [...Object.entries(services), ['total', total] as const];
  return [
    [...head, 'SET ASIDE', 'EVICTED', 'QUEUED'],
    ...rows.map(([id, { samples, points }]) => [
      labelOf(id),
      ...[samples.read, samples.dropped, points.made, points.accepted].map(formatCount),
      ...[points.rejected, points.setAside, points.evicted, points.queued].map(formatCount),
    ]),
  ];
}

function jsonOf({ signals, services, setAside, ...rest }: Inspection): unknown {
  return {
    ...rest,
    signals: signals.map(one => shown(one)),
    services: services.map(one => shown(one)),
    setAside: setAside.slice(0, SET_ASIDE_SHOWN_MAX).map(({ sample, ...one }) => ({
      ...shown(one),
      sample: sampleOf(one.signal, sample),
    })),
  };
}

/** The refused request; null if its row was damaged on disk, or if its bytes were not kept. */
function sampleOf(signal: Signal, sample: Buffer): unknown {
  try {
    return sample.length === 0 ? null : JSON.parse(otlpJson(signal, sample));
  } catch {
    return null;
  }
}

// `queue export`: the queued requests as OTLP/JSON, one per line, oldest first. Only one request at a time is in memory,
// whatever the size of the queue and the speed of the reader.

async function queueExport(
  call: Call<typeof EXPORT_OPTIONS>,
  context: VerbContext,
): Promise<number> {
  const { signal, output = STDOUT } = call.values;
  const signals = signal === undefined ? SIGNALS : [signal];
  const { directory } = loadQueueConfig(call, context);
  const view = QueueView.open(directory);
  const exportTo = async (write: (line: string) => Promise<boolean>): Promise<number> => {
    const { written, damaged } = await exportRows(view, signals, write);
    context.err.line(`${String(written)} requests exported; nothing was removed from the queue`);
    if (damaged > 0) context.err.line(`${String(damaged)} requests are damaged and were left out`);
    return damaged > 0 || context.stop.aborted ? 1 : 0;
  };
  try {
    if (output === STDOUT)
      return await exportTo(async line => {
        context.out.line(line);
        return (await context.out.taken()) && !context.stop.aborted;
      });
    return await writeNewFile(output, file =>
      exportTo(async line => {
        if (context.stop.aborted) throw new Error(`stopped by a signal; ${output} is not kept`);
        await file.appendFile(`${line}\n`).catch(refuseFile(output));
        return true;
      }),
    );
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    context.err.line(`cannot export the queue: ${causeText(error)}`);
    return 1;
  } finally {
    view.close();
  }
}

async function exportRows(
  view: QueueView,
  signals: readonly Signal[],
  /** Takes one line; false when it takes no more. */
  write: (line: string) => Promise<boolean>,
): Promise<{ readonly written: number; readonly damaged: number }> {
  let written = 0;
  let damaged = 0;
  for (const signal of signals)
    for (const row of view.rows(signal)) {
      const bytes = row && (await decompress(row.encoding, row.body, row.rawBytes));
      if (bytes === null) damaged++;
      else if (await write(escapeHarmful(otlpJson(signal, bytes)))) written++;
      else return { written, damaged };
    }
  return { written, damaged };
}

// `queue drain`: delivers the queue without the daemon, to the configured back end or to another one, and removes accepted
// requests. It uses the queue and the senders of the daemon: lock, order, retries and account are the same.

async function queueDrain(call: Call<typeof DRAIN_OPTIONS>, context: VerbContext): Promise<number> {
  const { endpoint, for: forMs = Infinity } = call.values;
  const { config, directory } = loadQueueConfig(call, context);
  // Opening the queue would create one.
  existingQueue(directory);
  const otlp =
    endpoint === undefined ? config.otlp : redirect(call.command, config, endpoint, context);
  const { clock } = context;
  const counters = new Counters();
  // Also delivers metrics that the daemon would drop for their age.
  const metrics = { ...config.queue.metrics, maxAgeMs: Infinity };
  const ageless = { ...config, queue: { ...config.queue, metrics } };
  const options = { clock, counters, logger: silentLogger };
  const queue = openQueue(ageless, options);
  try {
    const senders = await openSenders({ config: { ...config, otlp }, queue, ...options });
    for (const { sender } of senders) sender.start();
    const done = await deliver(queue, senders, forMs, context);
    printDelivered(done, context);
    const left = done.left + done.refused;
    // Only damaged requests are evicted here, some already when the file was opened.
    const { evicted } = counters.of(QUEUE_COUNTERS);
    const damaged = evicted.series.reduce((sum, { value }) => sum + value, 0);
    if (damaged > 0)
      context.err.line(
        `${formatCount(damaged)} points are lost: their requests in the queue were damaged`,
      );
    return left + damaged === 0 ? 0 : 1;
  } finally {
    await queue.close();
  }
}

/** What a delivery has done. */
export interface Delivered {
  readonly accepted: number;
  readonly rejected: number;
  readonly aside: number;
  /** Rejected and set aside. */
  readonly refused: number;
  /** Points that are still queued. */
  readonly left: number;
  readonly tookMs: number;
  /** Sentences on why some are. */
  readonly problems: readonly string[];
}

/** Waits until started senders have emptied the queue, for at most `forMs`, and closes them. */
export async function deliver(
  queue: Queue,
  senders: readonly OpenSender[],
  forMs: number,
  context: VerbContext,
  since: ReturnType<typeof countFromNow> = countFromNow(queue.account),
): Promise<Delivered> {
  const { clock, stop, stopNow } = context;
  const startedMs = clock.monotonicMs();
  const totalPoints = queue.points;
  const meter = createMeter(clock, amount => `${formatCount(amount)} points`);
  const state = (): string =>
    [meter(totalPoints - queue.points, totalPoints), ...problemsOf(queue, senders)].join('; ');
  const flushed = Promise.all(senders.map(({ sender }) => sender.flush(forMs)));
  await withProgress(context, state, Promise.race([flushed, untilAborted(stop)]));
  // Read before the senders close, which ends their states.
  const problems = problemsOf(queue, senders);
  await Promise.all(senders.map(({ sender }) => sender.close(GRACE_MS, stopNow)));
  const accepted = since(null, 'point/accepted');
  const [rejected, aside] = [since(null, 'point/rejected'), since(null, 'point/set_aside')];
  const tookMs = clock.monotonicMs() - startedMs;
  const refused = rejected + aside;
  return { accepted, rejected, aside, refused, left: queue.points, tookMs, problems };
}

/** One line, and the problems. */
export function printDelivered(done: Delivered, { out, err }: VerbContext): void {
  const { accepted, rejected, aside, left, tookMs, problems } = done;
  const refused = `rejected ${formatCount(rejected)}, set aside ${formatCount(aside)}`;
  out.line(
    `accepted ${formatCount(accepted)} points in ${formatDuration(tookMs)}, ${refused}, left ${formatCount(left)}`,
  );
  for (const problem of problems) err.line(problem);
}

function problemsOf(queue: Queue, senders: readonly OpenSender[]): readonly string[] {
  const trouble = queue.trouble();
  const stuck = senders.flatMap(({ signal, endpoint, sender }) => {
    const { lastError, state } = sender.status();
    const isStuck = queue.size(signal).rows > 0 && lastError !== null && state !== 'sending';
    return isStuck ? [`${signal} to ${endpoint}: ${state}: ${lastError}`] : [];
  });
  return trouble === null ? stuck : [`queue: ${trouble}`, ...stuck];
}

/** The settings for another receiver. Headers go to the configured origin only: they may hold credentials. */
function redirect(
  command: string,
  { otlp }: Config,
  endpoint: string,
  { err, environment }: Pick<VerbContext, 'err' | 'environment'>,
): Config['otlp'] {
  const base = readAlone(otlpKeys.keys.endpoint, endpoint);
  if (base === undefined)
    throw usageError(
      command,
      'expected --endpoint as http://localhost:4318, without a user or a query',
    );
  const { origin } = new URL(base);
  let isWithheld = false;
  let isElsewhere = false;
  const settingsOf = (signal: Signal): OtlpSignalConfig => {
    const configured = otlp[signal];
    const settings = {
      ...configured,
      endpoint: configured.protocol === 'grpc' ? base : `${base}/v1/${signal}`,
      names: { ...configured.names, 'otlp.endpoint': '--endpoint' },
    };
    if (new URL(configured.endpoint).origin === origin) return settings;
    isElsewhere = true;
    isWithheld ||= Object.keys(settings.headers).length > 0 || otlp.auth !== null;
    const proxy = otlp.proxy ?? readProxyVariables(environment).proxyFor(base);
    return { ...settings, headers: {}, proxy };
  };
  const [metrics, logs] = [settingsOf('metrics'), settingsOf('logs')];
  if (isWithheld)
    err.line(
      'otlp.headers and otlp.auth are not sent to another origin; for a receiver that wants some, use a configuration of its own',
    );
  // Credentials are for both signals: one other origin is enough to withhold them.
  return { ...otlp, metrics, logs, auth: isElsewhere ? null : otlp.auth };
}

// The account covers all runs of a queue; a verb that ends by itself reports what it added.

/** Returns a function: how much a number has grown since this call, for one service or, with null, for all. */
export function countFromNow(account: Account): (service: string | null, key: string) => number {
  const copy = new Map<string | null, ReadonlyMap<string, number>>(
    [...account.entries()].map(([service, numbers]) => [service, new Map(numbers)]),
  );
  const before = copy.set(null, account.total());
  return (service, key) => {
    const now = service === null ? (account.total().get(key) ?? 0) : account.get(service, key);
    return now - (before.get(service)?.get(key) ?? 0);
  };
}
