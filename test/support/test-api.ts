// Settings of an API, and of a back end, for tests.

import type { ApiConfig, Config, OtlpSignalConfig } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { BodyBuffer } from '../../src/lib/body-buffer.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import type { EndpointOptions } from '../../src/pipeline/send/transport.ts';
import type { Request } from '../../src/service/exchange.ts';
import { KnownApis } from '../../src/service/redact.ts';

export function testApi(baseUrl: string, settings: Partial<ApiConfig> = {}): ApiConfig {
  return {
    baseUrl,
    key: new ConfigSecret('test-key'),
    headers: {},
    timeoutMs: 8000,
    ca: null,
    proxy: null,
    isInsecureAllowed: false,
    ...settings,
  };
}

/** A configuration of a service and a back end that do not exist, with a queue in memory; `changes` replace sections. */
export function testConfig(changes: object = {}, file = 'x.yaml'): Config {
  const sections = {
    api: { base_url: 'http://127.0.0.1:1', key: 'k' },
    services: [{ id: 'a' }],
    otlp: { endpoint: 'http://127.0.0.1:1' },
    queue: { directory: null },
    telemetry: { enabled: false },
    ...changes,
  };
  return parseConfig(JSON.stringify(sections), { file, environment: {} });
}

export const NO_TLS: OtlpSignalConfig['tls'] = { ca: null, cert: null, key: null };

export function testEndpoint(
  endpoint: string,
  settings: Partial<OtlpSignalConfig> = {},
  clock: Clock = systemClock,
): EndpointOptions {
  const config: OtlpSignalConfig = {
    endpoint,
    protocol: 'http/protobuf',
    compression: 'gzip',
    headers: {},
    timeoutMs: 8000,
    tls: NO_TLS,
    proxy: null,
    ...settings,
  };
  return { config, apis: new KnownApis([]), concurrency: 1, clock };
}

/** A request to the service, for tests that send requests themselves. */
export function testCall(changes: Partial<Request> = {}): Request {
  return {
    method: 'GET',
    path: '/',
    accept: '*/*',
    body: null,
    timeoutMs: 10_000,
    deadlineMs: Infinity,
    idleTimeoutMs: 0,
    maxBodyBytes: 2 ** 30,
    signal: undefined,
    into: new BodyBuffer(),
    sink: null,
    isStatusEnough: false,
    ...changes,
  };
}
