// Opens the ways to the back end: one sender per signal that is in use, each with the transport that the
// configuration names. Metrics and logs may go to different places in different protocols.

import type { Config, OtlpSignalConfig } from '../../config/config.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Counters } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import { programVersion } from '../../lib/version.ts';
import type { Signal } from '../../model.ts';
import type { Queue } from '../queue/queue.ts';
import { OtlpHttp } from './otlp-http.ts';
import { SendMeter } from './send-meter.ts';
import { Sender } from './sender.ts';
import type { Transport } from './transport.ts';

export interface SendersOptions {
  readonly config: Config;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
}

/** A sender and what the status page calls its destination (without user and password). */
export interface OpenSender {
  readonly signal: Signal;
  readonly endpoint: string;
  readonly sender: Sender;
}

/** Senders for both signals, not started yet. */
export async function openSenders(options: SendersOptions): Promise<readonly OpenSender[]> {
  const { otlp } = options.config;
  return [
    await openSender('metrics', otlp.metricsEndpoint, otlp.metrics, options),
    await openSender('logs', otlp.logsEndpoint, otlp.logs, options),
  ];
}

async function openSender(
  signal: Signal,
  endpoint: string,
  settings: OtlpSignalConfig,
  options: SendersOptions,
): Promise<OpenSender> {
  const { config, queue, clock, counters, logger } = options;
  const { concurrency } = config.otlp;
  const transport = await openTransport(endpoint, settings, { config, concurrency, clock });
  const shown = shownEndpoint(endpoint);
  const meter = new SendMeter({ signal, endpoint: shown, counters, clock, logger });
  const random = Math.random;
  const sender = new Sender({ signal, queue, transport, meter, concurrency, clock, random });
  return { signal, endpoint: shown, sender };
}

export interface TransportOptions {
  /** The whole of it: no secret that it holds may be shown. */
  readonly config: Config;
  readonly concurrency: number;
  readonly clock: Clock;
}

/** One way to a back end, in the protocol that the signal's settings name. */
export async function openTransport(
  endpoint: string,
  settings: OtlpSignalConfig,
  { config, concurrency, clock }: TransportOptions,
): Promise<Transport> {
  const apis = [...config.services, ...config.elsewhere].map(({ api }) => api);
  const shared = { endpoint, config: settings, apis, version: programVersion(), clock };
  if (settings.protocol === 'grpc') {
    const { OtlpGrpc } = await import('./otlp-grpc.ts');
    return new OtlpGrpc(shared);
  }
  return new OtlpHttp({ ...shared, concurrency });
}

function shownEndpoint(endpoint: string): string {
  const url = new URL(endpoint);
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}
