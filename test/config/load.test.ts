import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { MISTAKES_MAX } from '../../src/config/problems.ts';
import { linesOf, mistakesOf } from '../support/mistakes.ts';
import { useDirectory } from '../support/temporary-directory.ts';

const { path: directory } = useDirectory();

const BASE = 'api: {base_url: "https://a", key: k}\nservices: [{id: x}]\n';
const file = join(directory, 'c.yaml');

function parse(text: string, environment: Record<string, string> = {}): Config {
  return parseConfig(text, { file, environment });
}

function shown(text: string, environment?: Record<string, string>): string[] {
  return linesOf(() => parse(text, environment)).map(line => line.replace(file, 'c'));
}

/** Where the mistakes are: line, column and key. Their words are those of the fixtures. */
function places(text: string, environment?: Record<string, string>): string[] {
  return shown(text, environment).map(line =>
    line.replace(/^(c:\d+:\d+: )?([^:]+):.*$/s, '$1$2').replace(': ', ' '),
  );
}

describe('all mistakes are reported at once', () => {
  test('in the order of the file, syntax, keys, values, references and rules alike', () => {
    const text = [
      'api: {base_url: "http://api.example", kye: k, timeout: 2m}',
      'services: [{id: x}, {id: x, nmae: y}]',
      'metrics: {interval: 1 minute, units: "${env:NONE}", limits: 5}',
      'otlp: {timeout: 10}',
      'otlp: {timeout: 20}',
      'shard: {index: 4, count: 2}',
    ].join('\n');
    expect(places(text, { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'udp://x' })).toEqual([
      'c:1:17 api.base_url',
      'c:1:39 api.kye',
      'c:2:26 services[1].id',
      'c:2:29 services[1].nmae',
      'c:3:21 metrics.interval',
      'c:3:38 metrics.units',
      'c:3:61 metrics.limits',
      'c:4:17 otlp.timeout',
      'c:5:1 otlp',
      'c:6:16 shard.index',
      'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    ]);
  });

  test('also those of several keys whose values come from references', () => {
    const environment = { A: 'one', GRPC: 'grpc', ZSTD: 'zstd', P: 'proxy_', SEND: 'send' };
    const listed = [
      'api: {base_url: "https://a", key: k}',
      'services: [{id: "${env:A}"}, {id: one}]',
      'metrics: {prefixes: {engine: ["${env:P}"]}}',
      'otlp: {protocol: "${env:GRPC}", compression: "${env:ZSTD}", endpoint: "https://b/path"}',
    ];
    expect(places(listed.join('\n'), environment)).toEqual([
      'c:2:35 services[1].id',
      'c:3:11 metrics.prefixes.proxy[0]',
      'c:4:46 otlp.compression',
      'c:4:71 otlp.endpoint',
    ]);
    const found = BASE.replace('[{id: x}]', 'auto');
    expect(places(`${found}unconfigured_services: "\${env:SEND}"\n`, environment)).toEqual([
      'c:3:24 unconfigured_services',
    ]);
  });

  test('but only a readable number', () => {
    const text = Array.from({ length: 150 }, (_, i) => `key${String(i)}: 1\n`).join('');
    const all = shown(BASE + text);
    expect(all).toHaveLength(MISTAKES_MAX + 1);
    expect(all.at(-1)).toBe('and 50 more mistakes');
  });
});

describe('no message shows a secret in the wrong place', () => {
  const environment = { S: 'hunter2', URL: 'https://u:hunter2@x' };
  const check = (text: string): void => {
    const all = shown(text, environment);
    expect(all.length, text).toBeGreaterThan(0);
    expect(all.join('\n')).not.toContain('hunter');
  };
  const leaves = [
    'metrics: {interval: X}',
    'metrics: {enabled: X}',
    'metrics: {units: X}',
    'metrics: {path: X}',
    'metrics: {bad_share: X}',
    'metrics: {limits: {labels: X}}',
    'metrics: {limits: {body: X}}',
    'metrics: {include: ["(X"]}',
    'metrics: X',
    'metrics: {include: X}',
    'otlp: {endpoint: X}',
    'otlp: {logs_endpoint: X}',
    'otlp: {headers: X}',
    'status: {listen: X}',
    'logs: {schedule: "1 2 3 4 X"}',
    'logs: {first_start: X}',
    'logs: {source_timezone: X}',
    'log: {level: X}',
    'queue: {metrics: {max_age: X}}',
  ];

  test.each(leaves)('%s', line => {
    check(BASE + line.replace(/"(.*)X"|X/, '"$1${env:S}"'));
    check(BASE + line.replace(/"(.*)X"|X/, '"$1${env:URL}"'));
  });

  test('for any mistake in a key, a header or a certificate', () => {
    const api = (rest: string): string =>
      `api: {base_url: "https://a", ${rest}}\nservices: [{id: x}]\n`;
    check(api('key: "hunter\\n2"'));
    check(api('key: "hunter2 "'));
    check(api('key: [hunter2]'));
    check(api('key: {hunter2: hunter2}').replace('hunter2:', 'x:'));
    check(api('key: k, headers: {a: "hunter\\t\\r2"}'));
    check(api('key: k, headers: [hunter2]'));
    check(api('key: k, headers: hunter2'));
    check(api('key: k, ca: hunter2'));
    check(api('key: k, ca: "-----BEGIN hunter2"'));
    check(api('key: k, proxy: "http://u:hunter2@p/path"'));
    check(api('key: k, proxy: "hunter2"'));
    check(api('key: k, proxy: "http://u:50%hunter2@p"'));
    check(`${BASE}otlp: {tls: {key: hunter2, cert: hunter3}}`);
    check(`${BASE}otlp: {tls: {key: "-----BEGIN PRIVATE KEY----- ENCRYPTED hunter"}}`);
    check(`${BASE}otlp: {endpoint: "https://u:hunter2@x"}`);
    check(`${BASE}otlp: {endpoint: "ftp://u:hunter2@x"}`);
    check(`${BASE}status: {token: "hunter\\u00e42"}`);
    check(`${BASE}api: hunter2`);
    check(`${BASE}services: hunter2`);
    check('hunter2');
    check('[hunter2]');
    check('"${env:S}"');
    expect(shown('"${env:S}"', environment)).toEqual([
      expect.stringContaining('c:1:1: expected a map of keys at the top level'),
    ]);
    check('key: "hunter2');
    check('key: hunter2 "hunter" hunter');
    check('- hunter2\nb: hunter2');
    check('{hunter2: hunter2, "hunter"');
  });

  test('nor in the configuration when it is printed', () => {
    const text = [
      'api: {base_url: "https://a", key: hunter2, headers: {a: hunter2}, proxy: "http://u:hunter2@p"}',
      'services: [{id: x, api: {key: hunter2}}]',
      'otlp: {headers: {a: hunter2}}',
      'status: {token: hunter2}',
    ].join('\n');
    const config = parse(text);
    expect(config.services[0]?.api.proxy?.reveal()).toBe('http://u:hunter2@p');
    expect(JSON.stringify(config)).not.toContain('hunter');
    expect(inspect(config, { depth: 20, showHidden: true })).not.toContain('hunter');
  });
});

describe('the file', () => {
  test('is found relative to the working directory, and the paths in it relative to the file', () => {
    writeFileSync(join(directory, 'key'), 'from-file\n');
    const base = BASE.replace('k}', '"${file:key}"}');
    writeFileSync(file, `\uFEFF${base}queue: {directory: below/q}\n`);
    const config = loadConfig({ file, environment: {} });
    expect(config.file).toBe(file);
    expect(config.services[0]?.api.key.reveal()).toBe('from-file');
    expect(config.queue.directory).toBe(join(directory, 'below/q'));
  });

  test('is one mistake if it cannot be read', () => {
    const check = (path: string, words: string): void => {
      const message = `cannot read the configuration ${JSON.stringify(path)}: ${words}`;
      const mistakes = mistakesOf(() => loadConfig({ file: path, environment: {} }));
      expect(mistakes).toMatchObject([{ message }]);
    };
    check(join(directory, 'none.yaml'), 'there is no such file');
    check(directory, 'it is a directory');
    writeFileSync(join(directory, 'big.yaml'), `${BASE}#${'x'.repeat(1_048_576)}`);
    check(join(directory, 'big.yaml'), 'the file is larger than 1 MiB');
  });

  test('may have a byte order mark and Windows line ends, which do not shift places', () => {
    expect(shown(`\uFEFFx: 1\r\n${BASE.replaceAll('\n', '\r\n')}y: 1\r\n`)).toMatchObject([
      expect.stringMatching(/^c:1:1: x: /),
      expect.stringMatching(/^c:4:1: y: /),
    ]);
  });

  test('of hostile shape needs neither minutes nor the whole stack', () => {
    const many = (count: number, line: (i: number) => string): string =>
      Array.from({ length: count }, (_, i) => line(i)).join('');
    const check = (text: string, words: string): void => {
      expect(shown(text).join('\n')).toContain(words);
    };
    check('['.repeat(5000), 'the values are nested too deeply');
    check(`a: ${'{b: '.repeat(400)}1${'}'.repeat(400)}`, 'a: unknown key');
    // With a search of the whole map for each place this takes minutes.
    check(`${BASE}${many(50_000, i => `k${String(i)}: 1\n`)}`, 'more mistakes');
    const bomb = many(12, i => `a${i + 1}: &x${i + 1} [${`*x${i}, `.repeat(9)}]\n`);
    check(`a0: &x0 [1]\n${bomb}`, 'aliases repeat values more than 10000 times');
    check('a: &a [*a]\n', 'no anchor `&a` comes before this alias');
    check('__proto__: {x: 1}\nconstructor: 1\n', 'constructor: unknown key');
  });
});

describe('services', () => {
  test('inherit keys that they do not set', () => {
    const text = [
      'api: {base_url: "https://a/b/", key: k, headers: {X-A: "1", X-B: "2"}, timeout: 3s, insecure: true}',
      'services:',
      '  - {id: one}',
      '  - {id: two, name: second, api: {}}',
      '  - {id: three, api: {base_url: "http://c", headers: {x-b: "3"}, proxy: "http://p"}}',
    ].join('\n');
    const [one, two, three] = parse(text).services;
    expect(one).toMatchObject({ id: 'one', name: 'one', attributes: {} });
    expect(one?.api).toMatchObject({
      baseUrl: 'https://a/b',
      timeoutMs: 3000,
      ca: null,
      proxy: null,
      isInsecureAllowed: true,
    });
    expect(two?.name).toBe('second');
    expect(two?.api).toBe(one?.api);
    expect(three?.api.baseUrl).toBe('http://c');
    expect(three?.api.key).toBe(one?.api.key);
    const headers = Object.entries(three?.api.headers ?? {});
    expect(headers.map(([name, value]) => [name, value.reveal()])).toEqual([
      ['X-A', '1'],
      ['x-b', '3'],
    ]);
  });

  test('have the attributes of all, and override them', () => {
    const services = 'services: [{id: a, attributes: {x: "3"}}, {id: b}]\n';
    const text = BASE.replace(/services.*\n/, services);
    expect(
      parse(`${text}attributes: {x: "1", y: "2"}\n`).services.map(({ attributes }) => attributes),
    ).toEqual([
      { x: '3', y: '2' },
      { x: '1', y: '2' },
    ]);
  });

  test('wait no longer than the interval, unless the timeout is set', () => {
    const timeoutMs = (text: string): number | undefined =>
      parse(BASE + text).services[0]?.api.timeoutMs;
    expect(timeoutMs('')).toBe(10_000);
    expect(timeoutMs('metrics: {interval: 5s}')).toBe(5000);
    expect(timeoutMs('metrics: {interval: 20s}')).toBe(10_000);
  });
});

test('names are matched whole', () => {
  const { include, exclude } = parse(`${BASE}metrics: {include: ["a|b.*"], exclude: [x]}`).metrics;
  const names = ['a', 'ab', 'xa', 'bcd', 'ab.'];
  const included = names.filter(name => include.some(expression => expression.test(name)));
  expect(included).toEqual(['a', 'bcd']);
  expect(exclude[0]?.test('xx')).toBe(false);
});
