import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { formatMistake } from '../../src/errors.ts';

const PROXY = 'http://proxy.example:3128';

function load(environment: Record<string, string>, sections: object = {}): Config {
  const text = JSON.stringify({
    api: { base_url: 'https://api.example.com', key: 'k' },
    services: [{ id: 'x' }],
    ...sections,
  });
  return parseConfig(text, { file: 'c.yaml', environment });
}

/** The proxy for an endpoint of the back end; '' for none. */
function proxyOf(endpoint: string, environment: Record<string, string>): string {
  const { metrics } = load(environment, { otlp: { endpoint } }).otlp;
  return metrics.proxy?.reveal() ?? '';
}

test('each scheme has its variable, in lower case first; a scheme may be missing', () => {
  const both = { HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://other.example:80' };
  expect(proxyOf('https://back.example', both)).toBe(PROXY);
  expect(proxyOf('http://back.example', both)).toBe('http://other.example:80');
  expect(proxyOf('https://back.example', { ...both, https_proxy: 'low.example:1' })).toBe(
    'http://low.example:1',
  );
  expect(proxyOf('https://back.example', { HTTP_PROXY: PROXY })).toBe('');
  expect(proxyOf('https://back.example', { HTTPS_PROXY: PROXY, https_proxy: '' })).toBe(PROXY);
});

test('the service, the back end and the token endpoint go through it, each by its own address', () => {
  const auth = {
    oauth2: { token_url: 'https://login.example/t', client_id: 'c', client_secret: 's' },
  };
  const otlp = { endpoint: 'https://back.example', logs_endpoint: 'https://logs.internal/x', auth };
  const environment = { HTTPS_PROXY: PROXY, NO_PROXY: 'internal' };
  const config = load(environment, { otlp });
  expect(config.services[0]?.api.proxy?.reveal()).toBe(PROXY);
  expect(config.otlp.metrics.proxy?.source).toBe('${env:HTTPS_PROXY}');
  expect(config.otlp.logs.proxy).toBeNull();
  expect(config.otlp.auth?.tokenProxy?.reveal()).toBe(PROXY);
});

test('the keys win, also where an address would bypass the variables', () => {
  const own = 'http://own.example:1';
  const config = load(
    { HTTPS_PROXY: PROXY, NO_PROXY: '*' },
    {
      api: { base_url: 'https://api.example.com', key: 'k', proxy: own },
      otlp: { endpoint: 'http://localhost:4318', proxy: own },
    },
  );
  expect(config.services[0]?.api.proxy?.reveal()).toBe(own);
  expect(config.otlp.metrics.proxy?.reveal()).toBe(own);
});

test.each([
  'localhost',
  '127.0.0.2',
  '[::1]',
  '169.254.1.1',
  '[fe80::1]',
  'collector',
  'collector.observability.svc',
  'collector.observability.svc.cluster.local',
  'collector.observability.svc.cluster.local.',
])('%s is near: no variable applies', host => {
  expect(proxyOf(`https://${host}`, { HTTPS_PROXY: PROXY })).toBe('');
});

test.each([
  ['back.example', 'back.example', true],
  ['back.example', 'BACK.example.', true],
  ['back.example', 'example', true],
  ['back.example', '.example', true],
  ['back.example', '*.example', true],
  ['back.example', 'ack.example', false],
  ['back.example', 'other,back.example', true],
  ['back.example', 'back.example:443', true],
  ['back.example', 'back.example:8443', false],
  ['back.example:8443', 'back.example:8443', true],
  ['back.example', '*', true],
  ['10.1.2.3', '10.0.0.0/8', true],
  ['11.1.2.3', '10.0.0.0/8', false],
  ['10.1.2.3', '10.1.2.3', true],
  ['10.1.2.3', '2.3', false],
  ['[2001:db8::1]', '2001:db8::/32', true],
  ['[2001:db8::1]', '[2001:db8::1]', true],
  ['back.example', '10.0.0.0/8,, ,', false],
])('%s with NO_PROXY=%s', (host, list, isDirect) => {
  const environment = { HTTPS_PROXY: PROXY, NO_PROXY: list };
  expect(proxyOf(`https://${host}`, environment)).toBe(isDirect ? '' : PROXY);
});

test.each(['50%off', '50%canary'])('a `%%` in a password must be written as %%25: %s', password => {
  const environment = { HTTPS_PROXY: `http://me:${password}@proxy.example` };
  expect(proxyOf('https://back.example', environment)).toBe('');
  const [warning = ''] = load(environment).warnings.map(formatMistake);
  expect(warning).toMatch(/^HTTPS_PROXY: .* with `%25` for each `%` of its password; .*ignored$/);
  expect(warning).not.toContain(password);
  const proxy = `http://me:${password.replace('%', '%25')}@proxy.example`;
  expect(proxyOf('https://back.example', { HTTPS_PROXY: proxy })).toBe(proxy);
});

test('a token endpoint on this machine without TLS is asked without a proxy, which would see the secret', () => {
  const ask = (token_url: string): string | undefined => {
    const oauth2 = { token_url, client_id: 'c', client_secret: 's' };
    return load({}, { otlp: { proxy: PROXY, auth: { oauth2 } } }).otlp.auth?.tokenProxy?.reveal();
  };
  expect(ask('http://localhost:8080/token')).toBeUndefined();
  expect(ask('https://localhost:8443/token')).toBe(PROXY);
});

test('a variable that is no http proxy is ignored, with a warning that does not show it', () => {
  const config = load({ HTTPS_PROXY: 'socks5://me:canary@proxy.example:1080' });
  expect(config.otlp.metrics.proxy).toBeNull();
  const warnings = config.warnings.map(formatMistake).join('\n');
  expect(warnings).toMatch(/^HTTPS_PROXY: expected the http or https URL of a proxy; .*ignored$/);
});
