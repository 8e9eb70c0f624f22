// `otlp`: where and how everything is sent. The block is read once per signal, because the standard variables
// may differ between metrics and logs.

import type * as z from 'zod';
import type { OtlpConfig, OtlpSignalConfig } from '../config.ts';
import { DEFAULTS } from '../defaults.ts';
import { baseUrl, fullUrl, headers } from './addresses.ts';
import { block } from './containers.ts';
import { choice, duration, integer, size } from './scalars.ts';
import { certificates, privateKey } from './secret-values.ts';

/** The block as it holds for one signal. */
export interface OtlpKeys {
  readonly endpoint: string;
  readonly metricsEndpoint: string | null;
  readonly logsEndpoint: string | null;
  readonly signal: OtlpSignalConfig;
  readonly concurrency: number;
  readonly maxRequestBytes: number;
  readonly temporality: OtlpConfig['temporality'];
}

const defaults = DEFAULTS.otlp;
const HOUR_MS = 3_600_000;

const tlsBlock = block({
  ca: certificates()
    .nullable()
    .prefault(defaults.tls.ca)
    .describe("PEM file with the certificates to trust instead of the system's."),
  cert: certificates()
    .nullable()
    .prefault(defaults.tls.cert)
    .describe('PEM file with the client certificate.'),
  key: privateKey()
    .nullable()
    .prefault(defaults.tls.key)
    .describe('PEM file with the private key of the client certificate.'),
}).describe('Certificates for the connection to the back end.');

export const otlpBlock: z.ZodType<OtlpKeys> = block({
  endpoint: baseUrl('the http or https URL of an OTLP receiver')
    .prefault(defaults.endpoint)
    .describe('OTLP receiver. /v1/metrics and /v1/logs are appended (not with gRPC).'),
  metrics_endpoint: fullUrl()
    .nullable()
    .prefault(defaults.metrics_endpoint)
    .describe('Full URL for metrics, used unchanged.'),
  logs_endpoint: fullUrl()
    .nullable()
    .prefault(defaults.logs_endpoint)
    .describe('Full URL for logs, used unchanged.'),
  protocol: choice(['http/protobuf', 'http/json', 'grpc'])
    .prefault(defaults.protocol)
    .describe('Protocol and encoding.'),
  compression: choice(['auto', 'gzip', 'zstd', 'none'])
    .prefault(defaults.compression)
    .describe(
      'Compression of requests. auto: zstd if the back end has shown that it accepts it, else gzip. gRPC supports auto, gzip and none.',
    ),
  headers: headers()
    .prefault(defaults.headers)
    .describe('Request headers, for example for authorization. Their values are kept secret.'),
  timeout: duration({ max: HOUR_MS })
    .prefault(defaults.timeout)
    .describe('Timeout of one request.'),
  concurrency: integer({ min: 1, max: 64 })
    .prefault(defaults.concurrency)
    .describe('Number of concurrent requests. Only 1 keeps the order.'),
  max_request: size({ min: 1024, max: 64 * 2 ** 20 })
    .prefault(defaults.max_request)
    .describe('Larger requests are split. At most 64MiB.'),
  temporality: choice(['cumulative', 'delta', 'lowmemory'])
    .prefault(defaults.temporality)
    .describe(
      'delta sends the growth since the previous point; lowmemory is cumulative for scraped metrics.',
    ),
  tls: tlsBlock,
})
  .transform(read => ({
    endpoint: read.endpoint,
    metricsEndpoint: read.metrics_endpoint,
    logsEndpoint: read.logs_endpoint,
    signal: {
      protocol: read.protocol,
      compression: read.compression,
      headers: read.headers,
      timeoutMs: read.timeout,
      tls: read.tls,
    },
    concurrency: read.concurrency,
    maxRequestBytes: read.max_request,
    temporality: read.temporality,
  }))
  .describe('The OpenTelemetry back end.');
