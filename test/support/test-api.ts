// Settings of an API for tests, whose secrets are read from a function instead of a file.

import type { ApiConfig, Secret } from '../../src/config/config.ts';
import { BodyBuffer } from '../../src/lib/body-buffer.ts';
import type { Call } from '../../src/service/exchange.ts';

/** The source is read at once, and again at each refresh. */
export function testSecret(source: string | (() => string)): Secret {
  const read = typeof source === 'string' ? () => source : source;
  let text = read();
  return {
    reveal: () => text,
    refresh: () => {
      const before = text;
      text = read();
      return text !== before;
    },
    toString: () => '[secret]',
    toJSON: () => '[secret]',
  };
}

export function testApi(baseUrl: string, settings: Partial<ApiConfig> = {}): ApiConfig {
  return {
    baseUrl,
    key: testSecret('test-key'),
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
