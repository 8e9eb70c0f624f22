// `queue drain`: delivers what waits without the daemon, to the configured back end or to another one, and removes
// what was accepted. The same queue and senders as in the daemon: the lock, the order, retries and the account hold.

import type { Config, OtlpSignalConfig } from '../config/config.ts';
import { parseDuration } from '../config/units.ts';
import type { Clock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { formatCount, formatDuration } from '../lib/format.ts';
import { silentLogger } from '../lib/log.ts';
import { untilAborted } from '../lib/until-aborted.ts';
import type { Signal } from '../model.ts';
import { openQueue } from '../pipeline/queue/open-queue.ts';
import { QueueView } from '../pipeline/queue/queue-view.ts';
import type { Queue } from '../pipeline/queue/queue.ts';
import { openSenders, type OpenSender } from '../pipeline/send/open-senders.ts';
import { countFromNow } from './account-since.ts';
import { loadQueueConfig, refuseWords } from './queue-config.ts';
import { readArgs, usageError, type TextSink, type VerbContext } from './verb.ts';

const VERB = 'queue drain';
const PROGRESS_MS = 2000;

export async function queueDrain(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, {
    config: { type: 'string' },
    endpoint: { type: 'string' },
    for: { type: 'string' },
  });
  refuseWords(VERB, words);
  const forMs = values.for === undefined ? Infinity : parseDuration(values.for);
  if (forMs === undefined) throw usageError(VERB, 'expected --for as 10m');
  const { config, directory } = loadQueueConfig(VERB, values.config, context);
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
    throw usageError(VERB, 'expected --endpoint as http://localhost:4318, without a user');
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
