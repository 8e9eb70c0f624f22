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
import { OtlpHttp } from './otlp-http.ts';
import { type EndpointPause, Sender } from './sender.ts';
import type { EndpointOptions, Transport } from './transport.ts';

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
  const { metrics, logs } = options.config.otlp;
  const pause: EndpointPause = { untilMs: -Infinity };
  const isShared = new URL(metrics.endpoint).origin === new URL(logs.endpoint).origin;
  return [
    await openSender('metrics', pause, options),
    await openSender('logs', isShared ? pause : { untilMs: -Infinity }, options),
  ];
}

async function openSender(
  signal: Signal,
  endpointPause: EndpointPause,
  options: SendersOptions,
): Promise<OpenSender> {
  const { config, apis = new KnownApis(apisOf(config)), ...shared } = options;
  const { [signal]: settings, concurrency, stuckAfterMs } = config.otlp;
  const endpoint = printableUrl(settings.endpoint);
  const transport = await openTransport(settings, { apis, concurrency, clock: options.clock });
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
  if (config.protocol !== 'grpc') return finished(new OtlpHttp(options), config);
  const { OtlpGrpc } = await import('./otlp-grpc.ts');
  return finished(new OtlpGrpc(options), config);
}

/** Refusals that a rotated key may end: 401 and 403 of HTTP, PERMISSION_DENIED and UNAUTHENTICATED of gRPC. */
const KEY_REFUSED: ReadonlySet<number> = new Set([401, 403, 7, 16]);

/** Wraps a transport of either protocol: a rotated key is used at once, and hints name the settings that the user has. */
function finished(transport: Transport, { headers, names = {} }: OtlpSignalConfig): Transport {
  const isRotated = (): boolean =>
    Object.values(headers).filter(secret => secret.refresh()).length > 0;
  const named = (text: string): string =>
    text.replaceAll(/\botlp\.[a-z_]+(?:\.[a-z]+)?/g, key => names[key] ?? key);
  return {
    send: async (...request) => {
      let result = await transport.send(...request);
      const isRefused = 'status' in result && KEY_REFUSED.has(result.status);
      if (isRefused && isRotated()) result = await transport.send(...request);
      return 'reason' in result ? { ...result, reason: named(result.reason) } : result;
    },
    close: () => transport.close(),
  };
}
