// Settings of an API for tests, whose secrets are read from a function instead of a file.

import type { ApiConfig, Secret } from '../../src/config/config.ts';

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
