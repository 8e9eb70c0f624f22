// Opens one sender per signal, with the transport of the configuration. Metrics and logs may go to different endpoints
// over different protocols.

import type { Config, OtlpSignalConfig } from '../../config/config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counters } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import { printableUrl } from '../../lib/printable.ts';
import type { Signal } from '../../model/batch.ts';
import { apisOf } from '../../service/clients.ts';
import { KnownApis } from '../../service/redact.ts';
import type { Queue } from '../queue/queue.ts';
import { requestLimit } from '../queue/rows.ts';
import { openAuthorization } from './authorization.ts';
import { OtlpHttp } from './otlp-http.ts';
import { type EndpointPause, Sender } from './sender.ts';
import type { Authorization, EndpointOptions, SendResult, Transport } from './transport.ts';

export interface SendersOptions {
  readonly config: Config;
  /** The APIs of the configuration if absent. */
  readonly apis?: KnownApis;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
}

/** A sender, and its endpoint for the status page (without user, password and query). */
export interface OpenSender {
  readonly signal: Signal;
  readonly endpoint: string;
  readonly sender: Sender;
}

/** Senders for both signals, not started yet. */
export async function openSenders(options: SendersOptions): Promise<readonly OpenSender[]> {
  const { metrics, logs, auth } = options.config.otlp;
  const authorization = await openAuthorization(auth, options.clock, metrics.timeoutMs);
  const shared = { ...options, authorization };
  const pause: EndpointPause = { untilMs: -Infinity };
  const isShared = new URL(metrics.endpoint).origin === new URL(logs.endpoint).origin;
  return [
    await openSender('metrics', pause, shared),
    await openSender('logs', isShared ? pause : { untilMs: -Infinity }, shared),
  ];
}

async function openSender(
  signal: Signal,
  endpointPause: EndpointPause,
  options: SendersOptions & { readonly authorization: Authorization | null },
): Promise<OpenSender> {
  const { config, apis = new KnownApis(apisOf(config)), authorization, ...shared } = options;
  const { [signal]: settings, concurrency, stuckAfterMs } = config.otlp;
  const endpoint = printableUrl(settings.endpoint);
  const parts = { apis, concurrency, clock: options.clock, authorization };
  const transport = await openTransport(settings, parts);
  const limit = requestLimit(config.otlp, signal);
  const own = { signal, endpoint, limit, transport, concurrency, stuckAfterMs, endpointPause };
  return { signal, endpoint, sender: new Sender({ ...shared, ...own, random: Math.random }) };
}

/** Opens a transport in the protocol of the signal's settings. */
export async function openTransport(
  config: OtlpSignalConfig,
  parts: Omit<EndpointOptions, 'config'>,
): Promise<Transport> {
  const options = { ...parts, config };
  if (config.protocol !== 'grpc') return finished(new OtlpHttp(options), options);
  const { OtlpGrpc } = await import('./otlp-grpc.ts');
  return finished(new OtlpGrpc(options), options);
}

/** Refusals that a rotated key may end: 401 and 403 of HTTP, PERMISSION_DENIED and UNAUTHENTICATED of gRPC. */
const KEY_REFUSED: ReadonlySet<number> = new Set([401, 403, 7, 16]);

/** Those that a new token may end. */
const TOKEN_REFUSED: ReadonlySet<number> = new Set([401, 16]);

/**
 * Wraps a transport of either protocol: requests carry the credentials of `otlp.auth`, a rotated key or a new token is
 * used at once, and hints name the settings that the user has.
 */
function finished(
  transport: Transport,
  { config: { headers, names = {} }, authorization = null }: EndpointOptions,
): Transport {
  const isRotated = (): boolean =>
    Object.values(headers).filter(secret => secret.refresh()).length > 0;
  const named = (result: SendResult): SendResult =>
    'reason' in result
      ? {
          ...result,
          reason: result.reason.replaceAll(
            /\botlp\.[a-z_]+(?:\.[a-z]+)?/g,
            key => names[key] ?? key,
          ),
        }
      : result;
  return {
    send: async (request, abort, onSend) => {
      const given = (await authorization?.current(abort)) ?? null;
      if (given !== null && 'kind' in given) return named(given);
      const attempt = (value?: string): Promise<SendResult> => {
        const whole = value === undefined ? request : { ...request, authorization: value };
        return transport.send(whole, abort, onSend);
      };
      const result = await attempt(given?.value);
      const status = 'status' in result ? result.status : 0;
      const isUnknown = TOKEN_REFUSED.has(status) && given !== null;
      const renewed = isUnknown ? await authorization?.renew(given.value, abort) : null;
      const isAgain = typeof renewed === 'string' || (KEY_REFUSED.has(status) && isRotated());
      return named(isAgain ? await attempt(renewed ?? given?.value) : result);
    },
    close: async () => {
      authorization?.close();
      await transport.close();
    },
  };
}
