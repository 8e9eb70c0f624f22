// `check`: its verdict, warnings and effective values, and the secrets that a probe does not print.

import { describe, expect, test } from 'vitest';
import { verb } from '../../src/cli/check.ts';
import { useDirectory } from '../support/temporary-directory.ts';
import { callVerb } from '../support/verb-context.ts';

const directory = useDirectory();

const BASE = `api:
  base_url: https://api.example.com
  key: \${env:KEY}
  headers: {X-Region: canary-region}
services:
  - id: dbpgf12345678
    name: \${env:NAME}
otlp:
  endpoint: https://back.example.com
`;
const environment = {
  HOST: 'proxy.example.com',
  KEY: 'canary-key',
  NAME: 'canary-name',
  OTEL_LOG_LEVEL: 'warn',
};

test('says how much is polled how often, and warns without failing', async () => {
  const file = directory.write('p.yaml', BASE);
  const { code, out, err } = await callVerb(verb, ['-c', file], { environment });
  expect([code, out, err]).toEqual([0, `${file}: valid: 1 service, polled every 60 s\n`, '']);
  const likely = directory.write('q.yaml', BASE.replace('back.example.com', '$&:4317'));
  const variable = { ...environment, PROM2OTLP_CONFIG: likely };
  const warned = await callVerb(verb, [], { environment: variable });
  expect(warned.code).toBe(0);
  expect(warned.err).toMatch(/^warning: .*q\.yaml:9:13: otlp\.endpoint: port 4317 is usually/);
  expect(warned.out).toContain(': valid: 1 service');
});

test('--print shows each value with its origin, and no secret', async () => {
  const logs = { OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: '500' };
  const both = '{X-Region: canary-region, X-Route: "canary-${env:NAME}"}';
  const proxy = 'http://user:canary-password@${env:HOST}:3128';
  const base = BASE.replace('{X-Region: canary-region}', () => `${both}\n  proxy: ${proxy}`);
  const file = directory.write('r.yaml', `${base}  protocol: grpc\nmetrics: {interval: 5s}\n`);
  const args = ['--config', file, '--print'];
  const { code, out } = await callVerb(verb, args, { environment: { ...environment, ...logs } });
  expect(code).toBe(0);
  const rows = out.split('\n').map(line => line.trim().split(/\s{2,}/));
  const check = (key: string, value: string, from: string): void =>
    expect(rows.find(([first]) => first === key)).toEqual([key, value, from]);
  check('api.base_url', 'https://api.example.com', `${file}:2`);
  check('api.key', '${env:KEY}', `${file}:3`);
  check('api.headers.X-Region', '[secret]', `${file}:4`);
  check('api.headers.X-Route', '[secret]${env:NAME}', `${file}:4`);
  check('api.proxy', '[secret]${env:HOST}[secret]', `${file}:5`);
  check('api.timeout', '5s', 'default');
  check('services[0].name', '${env:NAME}', `${file}:8`);
  check('metrics.interval', '5s', `${file}:12`);
  check('log.level', 'warn', 'OTEL_LOG_LEVEL');
  check('otlp.timeout', '10s', 'default');
  check('otlp.timeout (logs)', '500ms', 'OTEL_EXPORTER_OTLP_LOGS_TIMEOUT');
  expect(out).not.toContain('canary');
});

describe('--print shows the defaults that hold', () => {
  const [http, grpc] = ['http://localhost:4318', 'http://localhost:4317'];
  const METRICS_ENDPOINT = 'http://elsewhere:4317';

  test.each<[variables: Readonly<Record<string, string>>, endpoints: readonly string[]]>([
    [{}, [`otlp.endpoint ${http}`]],
    [{ LOGS_PROTOCOL: 'grpc' }, [`otlp.endpoint ${http}`, `otlp.endpoint (logs) ${grpc}`]],
    [
      { METRICS_PROTOCOL: 'grpc', METRICS_ENDPOINT },
      [`otlp.endpoint ${grpc}`, `otlp.endpoint (logs) ${http}`],
    ],
  ])('with %j', async (variables, endpoints) => {
    const text = `api: {base_url: 'https://api.example.com', key: k}
services: auto
metrics: {interval: 5s}
`;
    const environment = Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [`OTEL_EXPORTER_OTLP_${name}`, value]),
    );
    const args = ['--config', directory.write('s.yaml', text), '--print'];
    const { out } = await callVerb(verb, args, { environment });
    const shown = out.match(/^(?:api\.timeout|otlp\.endpoint).*(?= {2,}default)/gm) ?? [];
    const lines = shown.map(line => line.replace(/ {2,}/g, ' ').trim());
    expect(lines).toEqual(['api.timeout 5s', ...endpoints]);
  });
});

test('--print and --probe do both', async () => {
  const text = BASE.replace(/https:.*com/g, 'http://127.0.0.1:1');
  const args = ['--config', directory.write('t.yaml', text), '--print', '--probe'];
  const { code, out } = await callVerb(verb, args, { environment });
  expect(code).toBe(1);
  expect(out).toMatch(/^KEY +VALUE +FROM\n/);
  expect(out).toContain('cannot scrape http://127.0.0.1:1/');
});

test('--probe shows URLs without their query, which may hold a secret', async () => {
  const text = `api: {base_url: 'http://127.0.0.1:1', key: k}
services: [{id: a}]
metrics: {path: '/m?token=\${env:KEY}'}
otlp: {metrics_endpoint: 'http://127.0.0.1:1/v1/metrics?api_key=\${env:KEY}'}
`;
  const args = ['--config', directory.write('s.yaml', text), '--probe'];
  const { code, out, err } = await callVerb(verb, args, { environment });
  expect(code).toBe(1);
  expect(out).toContain('cannot scrape http://127.0.0.1:1/m (');
  expect(out).toContain('back end metrics http://127.0.0.1:1/v1/metrics: is not available now');
  expect(out + err).not.toContain('canary');
});
