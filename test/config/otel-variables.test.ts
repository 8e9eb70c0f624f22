import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { judgeFile, parseConfig, warningMistakes } from '../../src/config/load.ts';
import { formatMistake } from '../../src/errors.ts';
import { TEST_CLIENT, TEST_TLS } from '../support/certificates.ts';
import { linesOf } from '../support/mistakes.ts';
import { useDirectory } from '../support/temporary-directory.ts';

const { path: directory } = useDirectory();

const BASE = 'api: {base_url: "https://a", key: k}\nservices: [{id: x, attributes: {team: own}}]\n';
const PREFIX = 'OTEL_EXPORTER_OTLP_';

function load(environment: Record<string, string>, yaml = ''): Config {
  return parseConfig(BASE + yaml, { file: join(directory, 'c.yaml'), environment });
}

function message(environment: Record<string, string>, yaml = ''): string {
  return linesOf(() => load(environment, yaml)).join('\n');
}

describe('endpoints', () => {
  const general = { [`${PREFIX}ENDPOINT`]: 'http://v:1/p/' };
  const own = { [`${PREFIX}METRICS_ENDPOINT`]: 'http://m:2/x/' };
  const both = { ...general, ...own };
  const of = (endpoint: string): string[] => [`${endpoint}/v1/metrics`, `${endpoint}/v1/logs`];
  const usual = of('http://localhost:4318');
  const mixed = ['http://m:2/x/', 'http://v:1/p/v1/logs'];
  const grpc = 'protocol: grpc';
  type Row = readonly [environment: Record<string, string>, yaml: string, want: readonly string[]];

  test.each<Row>([
    [{}, '{}', usual],
    [general, '{}', of('http://v:1/p')],
    [both, '{}', mixed],
    [own, '{}', ['http://m:2/x/', 'http://localhost:4318/v1/logs']],
    [{ [`${PREFIX}ENDPOINT`]: '' }, '{}', usual],
    [both, '{endpoint: "http://y"}', of('http://y')],
    [both, '{metrics_endpoint: "http://y/m"}', ['http://y/m', 'http://v:1/p/v1/logs']],
    [both, '{logs_endpoint: "http://y/l"}', ['http://m:2/x/', 'http://y/l']],
    [both, '{metrics_endpoint: null}', mixed],
    [both, '', mixed],
    [{}, `{${grpc}}`, ['http://localhost:4317', 'http://localhost:4317']],
    [{ [`${PREFIX}ENDPOINT`]: 'http://v:1/' }, `{${grpc}}`, ['http://v:1', 'http://v:1']],
    [
      { [`${PREFIX}LOGS_PROTOCOL`]: 'grpc' },
      '{}',
      ['http://localhost:4318/v1/metrics', 'http://localhost:4317'],
    ],
  ])('a general one gets the path of the signal, but for gRPC: %j %s', (variables, yaml, want) => {
    const { metrics, logs } = load(variables, `otlp: ${yaml}`).otlp;
    expect([metrics.endpoint, logs.endpoint]).toEqual(want);
  });
});

test('each variable sets its key, per signal before the general one', () => {
  const { otlp } = load({
    [`${PREFIX}PROTOCOL`]: 'http/json',
    [`${PREFIX}LOGS_PROTOCOL`]: 'GRPC',
    [`${PREFIX}COMPRESSION`]: 'none',
    [`${PREFIX}METRICS_COMPRESSION`]: 'Gzip',
    [`${PREFIX}TIMEOUT`]: '2500',
    [`${PREFIX}LOGS_TIMEOUT`]: ' 1000 ',
    [`${PREFIX}METRICS_TEMPORALITY_PREFERENCE`]: 'LowMemory',
  });
  expect([otlp.metrics.protocol, otlp.logs.protocol]).toEqual(['http/json', 'grpc']);
  expect([otlp.metrics.compression, otlp.logs.compression]).toEqual(['gzip', 'none']);
  expect([otlp.metrics.timeoutMs, otlp.logs.timeoutMs]).toEqual([2500, 1000]);
  expect(otlp.temporality).toBe('lowmemory');
});

test('the YAML beats every variable', () => {
  const environment = Object.fromEntries(
    ['', 'METRICS_', 'LOGS_'].flatMap(signal => [
      [`${PREFIX}${signal}PROTOCOL`, 'grpc'],
      [`${PREFIX}${signal}COMPRESSION`, 'none'],
      [`${PREFIX}${signal}TIMEOUT`, '1'],
      [`${PREFIX}${signal}HEADERS`, 'a=b'],
    ]),
  );
  const yaml = 'otlp: {protocol: http/json, compression: zstd, timeout: 9s, headers: {}}';
  const { otlp } = load(
    { ...environment, [`${PREFIX}METRICS_TEMPORALITY_PREFERENCE`]: 'delta' },
    yaml,
  );
  for (const signal of [otlp.metrics, otlp.logs]) {
    expect(signal).toMatchObject({ protocol: 'http/json', compression: 'zstd', timeoutMs: 9000 });
    expect(signal.headers).toEqual({});
  }
  expect(otlp.temporality).toBe('delta');
});

describe('headers', () => {
  const check = (text: string, want: Record<string, string>): void => {
    const { headers } = load({ [`${PREFIX}HEADERS`]: text }).otlp.metrics;
    const shown = Object.entries(headers).map(([name, value]) => [name, value.reveal()]);
    expect(Object.fromEntries(shown)).toEqual(want);
  };

  test('are pairs with percent-encoded values', () => {
    check('a=b', { a: 'b' });
    check('Authorization=Bearer%20x%3Dy%2Cz,x-tenant=7', {
      Authorization: 'Bearer x=y,z',
      'x-tenant': '7',
    });
    check(' a = b , c=d=e ,', { a: 'b', c: 'd=e' });
  });

  test('of a signal replace the general ones', () => {
    const { otlp } = load({ [`${PREFIX}HEADERS`]: 'a=1', [`${PREFIX}LOGS_HEADERS`]: 'b=2' });
    expect(Object.keys(otlp.metrics.headers)).toEqual(['a']);
    expect(Object.keys(otlp.logs.headers)).toEqual(['b']);
  });
});

describe('resource attributes', () => {
  const OTEL_RESOURCE_ATTRIBUTES = 'team=theirs,a%2Cb=c%20d,service.name=pod,service.instance.id=y';

  test('describe this program, not the services', () => {
    const { services, telemetry } = load({ OTEL_RESOURCE_ATTRIBUTES });
    expect(services[0]).toMatchObject({ name: 'x', attributes: { team: 'own' } });
    expect(telemetry.attributes).toEqual({ team: 'theirs', 'a,b': 'c d' });
    expect(telemetry.serviceName).toBe('pod');
    const OTEL_SERVICE_NAME = 'bridge';
    expect(load({ OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME }).telemetry.serviceName).toBe(
      'bridge',
    );
  });

  test('that would have changed the data of a service before make `check` warn', () => {
    const warnings = (environment: Record<string, string>, yaml = ''): string[] => {
      const readFile = (): { text: string } => ({ text: BASE + yaml });
      const judgement = judgeFile({ file: join(directory, 'c.yaml'), environment, readFile });
      return warningMistakes(judgement, false)
        .map(formatMistake)
        .filter(line => line.startsWith('OTEL_'));
    };
    expect(warnings({ OTEL_RESOURCE_ATTRIBUTES })).toEqual([
      'OTEL_RESOURCE_ATTRIBUTES: the attributes of this variable describe prom2otlp, and no longer the databases: a,b; write those that the databases need under `attributes` in the configuration',
    ]);
    expect(warnings({ OTEL_RESOURCE_ATTRIBUTES }, 'attributes: {"a,b": "1"}')).toEqual([]);
    expect(warnings({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=x,team=theirs' })).toEqual([]);
    expect(warnings({ OTEL_SERVICE_NAME: 'bridge' })).toEqual([]);
  });
});

test('certificates are read from the files that variables name', () => {
  const path = (name: string, text: string): string => {
    const file = join(directory, name);
    writeFileSync(file, text);
    return file;
  };
  const { metrics, logs } = load({
    [`${PREFIX}CERTIFICATE`]: path('ca', TEST_TLS.ca),
    [`${PREFIX}LOGS_CLIENT_CERTIFICATE`]: path('cert', TEST_CLIENT.cert),
    [`${PREFIX}LOGS_CLIENT_KEY`]: path('key', TEST_CLIENT.key),
  }).otlp;
  expect(metrics.tls.ca).toContain('BEGIN CERTIFICATE');
  expect(metrics.tls.key).toBeNull();
  expect(logs.tls.ca).toBe(metrics.tls.ca);
  expect(logs.tls.cert).toContain('BEGIN CERTIFICATE');
  expect(logs.tls.key?.reveal()).toContain('BEGIN PRIVATE KEY');
});

describe('a bad variable', () => {
  test.each([
    ['ENDPOINT', 'ftp://x', 'expected the http or https URL of an OTLP receiver, got "ftp://x"'],
    ['LOGS_ENDPOINT', 'x', 'expected an http or https URL, got "x"; did you mean `https://x`?'],
    [
      'CERTIFICATE',
      join(directory, 'none'),
      'cannot read the file that is named here: there is no such file',
    ],
  ])('is a mistake that names the variable: %s=%s', (suffix, value, words) => {
    const name = `${PREFIX}${suffix}`;
    expect(message({ [name]: value })).toBe(`${name}: ${words}`);
  });

  test('for a client is reported as a pair of certificate and key', () => {
    const cert = join(directory, 'lonely');
    writeFileSync(cert, TEST_CLIENT.cert);
    expect(message({ [`${PREFIX}LOGS_CLIENT_CERTIFICATE`]: cert })).toBe(
      `${PREFIX}LOGS_CLIENT_CERTIFICATE: \`cert\` needs \`key\`; add \`key\``,
    );
    expect(message({ [`${PREFIX}CLIENT_KEY`]: cert })).toContain('a private key in PEM form');
    const key = join(directory, 'other.key');
    writeFileSync(key, TEST_TLS.key);
    const pair = { [`${PREFIX}CLIENT_CERTIFICATE`]: cert, [`${PREFIX}CLIENT_KEY`]: key };
    expect(message(pair)).toMatch(
      /^OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: cannot use `cert` with `key`: key values mismatch/,
    );
  });

  test.each([
    'hunter2',
    'a=b,hunter2',
    'a=hunter%zz',
    '=hunter2',
    'a b=hunter2',
    'Host=hunter2',
    'a=hunter%0A2',
  ])('of pairs never shows a value: %s', text => {
    const shown = message({ [`${PREFIX}HEADERS`]: text });
    expect(shown).toContain(`${PREFIX}HEADERS: `);
    expect(shown).not.toContain('hunter');
  });

  test.each([
    ['HEADERS', 'headers: {}'],
    ['ENDPOINT', 'endpoint: "http://y"'],
    ['METRICS_ENDPOINT', 'metrics_endpoint: "http://y"'],
  ])('does no harm if the YAML sets the key: %s', (suffix, yaml) => {
    const environment = { [`${PREFIX}${suffix}`]: '%' };
    expect(message(environment, `otlp: {${yaml}}`)).toBe('');
    expect(message(environment)).toContain(suffix);
  });
});

describe('a word or number that is not understood', () => {
  const warnings = (environment: Record<string, string>, yaml = ''): string =>
    load(environment, yaml).warnings.map(formatMistake).join('\n');

  test.each([
    ['TIMEOUT', '10s', 'expected milliseconds such as 10000, got "10s"'],
    ['TIMEOUT', '0', 'expected at least 1ms, got "0ms"'],
    ['LOGS_TIMEOUT', '-1', 'expected milliseconds such as 10000, got "-1"'],
    ['COMPRESSION', 'brotli', 'expected one of '],
    ['METRICS_TEMPORALITY_PREFERENCE', 'both', 'expected one of cumulative, delta, lowmemory, got'],
  ])('is a warning that names the variable, and is ignored: %s=%s', (suffix, value, words) => {
    const environment = { [`${PREFIX}${suffix}`]: value };
    expect(warnings(environment)).toContain(`${PREFIX}${suffix}: ${words}`);
    expect(warnings(environment)).toContain('; the variable is ignored');
    expect(load(environment).otlp).toEqual(load({}).otlp);
  });

  test('says what was probably meant', () => {
    expect(warnings({ [`${PREFIX}PROTOCOL`]: 'http' })).toBe(
      'OTEL_EXPORTER_OTLP_PROTOCOL: expected one of http/protobuf, http/json, grpc, got "http"; the variable is ignored',
    );
    expect(warnings({ [`${PREFIX}PROTOCOL`]: 'http/protobuff' })).toMatch(
      /; the variable is ignored; did you mean `http\/protobuf`\?$/,
    );
  });

  test('of one signal leaves the general variable in force', () => {
    const environment = { [`${PREFIX}PROTOCOL`]: 'http/json', [`${PREFIX}LOGS_PROTOCOL`]: 'x' };
    expect(load(environment).otlp.logs.protocol).toBe('http/json');
    expect(warnings(environment)).toContain(`${PREFIX}LOGS_PROTOCOL: `);
  });

  test.each([
    ['PROTOCOL', 'protocol: http/json'],
    ['TIMEOUT', 'timeout: 5s'],
    ['LOGS_TIMEOUT', 'timeout: 5s'],
  ])('is not mentioned if the YAML sets the key: %s', (suffix, yaml) => {
    const environment = { [`${PREFIX}${suffix}`]: '%' };
    expect(warnings(environment, `otlp: {${yaml}}`)).toBe('');
    expect(warnings(environment)).toContain(suffix);
  });

  test('nor are pairs of attributes, which are discarded as a whole', () => {
    const environment = { OTEL_RESOURCE_ATTRIBUTES: 'team=a,x' };
    expect(warnings(environment)).toMatch(
      /^OTEL_RESOURCE_ATTRIBUTES: .*pair 2 is not one; the variable is ignored; encode/,
    );
    expect(load(environment).telemetry.attributes).toEqual({});
  });

  test("of the program's own telemetry and log, too", () => {
    const environment = { OTEL_LOG_LEVEL: 'loud', OTEL_METRIC_EXPORT_INTERVAL: '1s' };
    expect(warnings(environment)).toMatch(
      /^OTEL_METRIC.*: .*\nOTEL_LOG_LEVEL: expected one of trace/s,
    );
    expect(load(environment).log.level).toBe('info');
    expect(load(environment).telemetry.intervalMs).toBe(60_000);
  });
});

describe("the program's own telemetry and log", () => {
  const environment = {
    OTEL_SERVICE_NAME: 'bridge',
    OTEL_METRIC_EXPORT_INTERVAL: '30000',
    OTEL_SDK_DISABLED: 'TRUE',
    OTEL_LOG_LEVEL: 'NONE',
  };

  test('follow the standard variables', () => {
    const { telemetry, log } = load(environment);
    expect(telemetry).toEqual({
      isEnabled: false,
      intervalMs: 30_000,
      serviceName: 'bridge',
      attributes: {},
    });
    expect(log.level).toBe('silent');
    expect(load({ OTEL_LOG_LEVEL: 'verbose' }).log.level).toBe('trace');
    expect(load({ OTEL_SDK_DISABLED: 'no' }).telemetry.isEnabled).toBe(true);
  });

  test('the YAML overrides them, key by key', () => {
    const yaml = 'telemetry: {interval: 5m}\nlog: {level: warn}\n';
    const { telemetry, log } = load(environment, yaml);
    expect(telemetry).toMatchObject({
      isEnabled: false,
      intervalMs: 300_000,
      serviceName: 'bridge',
    });
    expect(log.level).toBe('warn');
  });
});
