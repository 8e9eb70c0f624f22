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
import { AutoCompression } from './auto-compression.ts';
import { OtlpHttp } from './otlp-http.ts';
import { Sender } from './sender.ts';
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
  /** The decision of `otlp.compression: auto`; null with another setting. */
  readonly compression: AutoCompression | null;
}

/** Senders for both signals, not started yet. */
export async function openSenders(options: SendersOptions): Promise<readonly OpenSender[]> {
  return [await openSender('metrics', options), await openSender('logs', options)];
}

async function openSender(signal: Signal, options: SendersOptions): Promise<OpenSender> {
  const { config, apis = new KnownApis(apisOf(config)), ...shared } = options;
  const { [signal]: settings, concurrency } = config.otlp;
  const { protocol } = settings;
  const endpoint = printableUrl(settings.endpoint);
  const hasChoice = settings.compression === 'auto' && protocol !== 'grpc';
  const compression = hasChoice
    ? await AutoCompression.open({ ...shared, signal, endpoint, protocol })
    : null;
  const parts = { apis, concurrency, clock: options.clock };
  const transport = await openTransport(settings, parts, compression);
  const own = { signal, endpoint, transport, concurrency, random: Math.random };
  const sender = new Sender({ ...shared, ...own });
  return { signal, endpoint, sender, compression };
}

/** Opens a transport in the protocol of the signal's settings. `auto` means gzip without a `compression`. */
export async function openTransport(
  config: OtlpSignalConfig,
  parts: Omit<EndpointOptions, 'config'>,
  compression: AutoCompression | null = null,
): Promise<Transport> {
  const options = { ...parts, config };
  if (config.protocol !== 'grpc') return finished(new OtlpHttp(options, compression), config);
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
      const isRefused = result.kind === 'hold' && KEY_REFUSED.has(result.status);
      if (isRefused && isRotated()) result = await transport.send(...request);
      return 'reason' in result ? { ...result, reason: named(result.reason) } : result;
    },
    close: () => transport.close(),
  };
}
