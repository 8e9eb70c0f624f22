// docs/use/how-do-i.md as a reader follows it: the program does with the YAML of each answer what the answer says.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { startHttpServer } from '../support/http-server.ts';
import { run, until } from '../support/program.ts';
import { useRigForEach } from '../support/rig.ts';

const text = readFileSync(new URL('../../docs/use/how-do-i.md', import.meta.url), 'utf8');
const [, section = ''] = /\n## Answers\n([^]*?)\n## /.exec(text) ?? [];
/** The code of each answer by its title, without the fence. */
const answers = new Map(
  section
    .split('\n### ')
    .slice(1)
    .map(answer => {
      const [title = ''] = answer.split('\n');
      return [title, /```\w+\n([^]*?)```/.exec(answer)?.[1] ?? ''] as const;
    }),
);
const rig = useRigForEach();
const tested = new Set<string>();

type Keys = Readonly<Record<string, object>>;

/** Tests one answer with the keys of its YAML. */
function answer(title: string, check: (keys: Keys) => Promise<void>): void {
  tested.add(title);
  test(title, async () => {
    const code = answers.get(title) ?? '';
    await check((code.startsWith('npx') ? {} : (parse(code) ?? {})) as Keys);
  });
}

/** Runs once with a configuration that has these keys besides those of the rig, and returns what it printed. */
async function once(keys: Readonly<Record<string, unknown>>): Promise<string> {
  const { code, stdout, stderr } = await run(['once', '--config', rig.config(keys)]);
  expect(code, stdout + stderr).toBe(0);
  return stdout + stderr;
}

answer('Send to a hosted back end', async ({ otlp }) => {
  rig.directory.write('token', 'secret-token');
  const { code, stdout } = await run(['check', '--config', rig.config({ otlp })]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/Grafana Cloud: otlp\.temporality/);
  expect(stdout).not.toContain('secret-token');
});

answer('A counter arrives as a gauge, or a gauge as a counter', async ({ metrics }) => {
  await using service = await startHttpServer((_request, response) => {
    response.setHeader('content-type', 'text/plain').end('engine_my_own_events{namespace="a"} 1\n');
  });
  const page = { api: { base_url: service.origin, key: 'k' }, services: [{ id: 'a' }] };
  const types = (): readonly string[] =>
    rig.receiver.points
      .filter(({ metric }) => metric === 'engine_my_own_events')
      .map(({ type, isMonotonic, unit }) => [type, isMonotonic, unit].join(' '));
  await once(page);
  expect(types()).toEqual(['gauge false ']);
  await once({ ...page, metrics });
  expect(types()).toEqual(['gauge false ', 'sum true {event}']);
});

answer('The back end was away for six hours', async ({ queue }) => {
  const directory = join(rig.directory.path, 'queue');
  rig.receiver.behave = () => 503;
  const daemon = rig.run(rig.config({ queue: { ...queue, directory } }));
  await daemon.shows('a queue', ({ queue: [metrics] }) => (metrics?.points ?? 0) > 1000, 30_000);
  expect(rig.receiver.points).toEqual([]);
  rig.receiver.behave = () => 200;
  await daemon.shows('an empty queue', ({ queue: [metrics] }) => metrics?.points === 0, 60_000);
  await daemon.stop();
  expect(rig.disturbed).toEqual([]);
});

answer('Only two families of series', async ({ metrics }) => {
  await once({ metrics });
  const names = rig.receiver.points.map(({ metric }) => metric);
  expect(names.some(name => name.startsWith('engine_'))).toBe(true);
  expect(names.some(name => name.startsWith('proxy_'))).toBe(true);
  expect(names.filter(name => /^engine_(multimaster|dist)_/.test(name))).toEqual([]);
});

answer('Logs without SQL', async ({ logs }) => {
  await once({ logs });
  const records = rig.receiver.logRecords;
  expect(records.length).toBeGreaterThan(10);
  const events = new Set(records.map(({ eventName = '' }) => eventName));
  expect([...events]).not.toContain('prom2otlp.slow_query');
  expect([...events]).not.toContain('prom2otlp.audit');
  expect(JSON.stringify(records)).not.toContain('db.query.text');
});

answer('Two hundred services', async ({ services }) => {
  await once({ services });
  for (const id of rig.ids) expect(rig.came(id)).toBeGreaterThan(0);
});

answer('Upgrade, and go back', async () => {
  const config = rig.config({ queue: { directory: join(rig.directory.path, 'queue') } });
  rig.receiver.behave = () => 503;
  const daemon = rig.run(config);
  await daemon.shows('a queue', ({ queue: [metrics] }) => (metrics?.points ?? 0) > 0, 30_000);
  await daemon.kill();
  rig.receiver.behave = () => 200;
  const { code, stdout } = await run(['queue', 'drain', '--config', config]);
  expect(code, stdout).toBe(0);
  expect(rig.receiver.points.length).toBeGreaterThan(0);
});

answer('A value looks odd', async () => {
  const [npx, program, ...args] = (answers.get('A value looks odd') ?? '').trim().split(' ');
  expect([npx, program]).toEqual(['npx', 'prom2otlp']);
  const words = args.map(word =>
    word === 'prom2otlp.yaml' ? rig.config() : word === 'dbpgf12345678' ? (rig.ids[0] ?? '') : word,
  );
  const { code, stdout, stderr } = await run(words);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('engine_global_status_threads_running');
});

answer('A label on everything', async ({ attributes }) => {
  await once({ attributes });
  for (const { resource } of rig.receiver.points.filter(({ serviceId }) =>
    rig.ids.includes(serviceId),
  ))
    expect(resource).toMatch(/deployment\.environment\.name=production.*team=payments/);
});

answer('Watch prom2otlp itself', async ({ status, telemetry }) => {
  expect(status).toEqual({ listen: '127.0.0.1:9464' });
  const daemon = rig.run(rig.config({ telemetry: { ...telemetry, interval: '1s' } }));
  const own = () =>
    rig.receiver.points.filter(
      ({ serviceName, resource }) =>
        serviceName === 'prom2otlp' && resource.includes('k8s.cluster.name=blue'),
    );
  await until('own metrics', () => own().length > 0, 20_000);
  await daemon.stop();
});

answer('Several regions', async ({ services }) => {
  await using region = await startHttpServer(({ headers }, response) => {
    const id = headers['x-region'] === 'eu-1' ? 'dbpgf12345678' : 'dbpgf87654321';
    response.setHeader('content-type', 'text/plain');
    response.end(`engine_up{namespace="${id}"} 1\n`);
  });
  await once({ services, api: { base_url: region.origin, key: 'k' } });
  expect(rig.came('dbpgf12345678')).toBeGreaterThan(0);
  expect(rig.came('dbpgf87654321')).toBeGreaterThan(0);
});

answer('A private certificate authority', async ({ api, otlp }) => {
  const ca = new URL('../support/tls/ca.pem', import.meta.url).pathname;
  const ours = (keys: object = {}) =>
    JSON.parse(JSON.stringify(keys).replace('/etc/prom2otlp/ca.pem', ca)) as object;
  await using server = await startHttpServer(
    ({ path }, response) => {
      const isPage = path.endsWith('/metrics') && !path.startsWith('/v1');
      response.setHeader('content-type', isPage ? 'text/plain' : 'application/json');
      response.end(isPage ? 'engine_up{namespace="a"} 1\n' : '{}');
    },
    { isTls: true },
  );
  const { origin } = server;
  await once({
    api: { ...ours(api), base_url: origin, key: 'k' },
    otlp: { ...ours(otlp), endpoint: origin },
    services: [{ id: 'a' }],
  });
  expect(server.requests.map(({ path }) => path)).toContain('/v1/metrics');
});

test('each answer is tested', () => {
  expect([...tested].sort()).toEqual([...answers.keys()].sort());
});
