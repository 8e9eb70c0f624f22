// Settings of an API, and of a back end, for tests.

import type { ApiConfig, OtlpSignalConfig } from '../../src/config/config.ts';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { BodyBuffer } from '../../src/lib/body-buffer.ts';
import type { Call } from '../../src/service/exchange.ts';

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

export const NO_TLS: OtlpSignalConfig['tls'] = { ca: null, cert: null, key: null };

export function testSignal(settings: Partial<OtlpSignalConfig> = {}): OtlpSignalConfig {
  return {
    protocol: 'http/protobuf',
    compression: 'gzip',
    headers: {},
    timeoutMs: 8000,
    tls: NO_TLS,
    ...settings,
  };
}

/** A call for tests that send it themselves. */
export function testCall(changes: Partial<Call> = {}): Call {
  return {
    method: 'GET',
    path: '/',
    accept: '*/*',
    body: null,
    secrets: [],
    isPlain: true,
    timeoutMs: 10_000,
    deadlineMs: Infinity,
    idleTimeoutMs: 10_000,
    maxBodyBytes: 2 ** 30,
    priority: 'command',
    signal: undefined,
    into: new BodyBuffer(),
    sink: null,
    ...changes,
  };
}
