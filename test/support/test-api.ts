// Settings of an API for tests.

import type { ApiConfig } from '../../src/config/config.ts';
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

/** A call for tests that send it themselves. */
export function testCall(changes: Partial<Call> = {}): Call {
  return {
    method: 'GET',
    path: '/',
    accept: '*/*',
    body: null,
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
