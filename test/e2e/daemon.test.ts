// The daemon in a separate process, between the simulated service and a receiver.

import { describe, expect, test } from 'vitest';
import { useRig } from '../support/rig.ts';
import { run, tempDirectory, until } from '../support/program.ts';

const CANARY = 'canary-5f1d0c9b';
const rig = useRig(CANARY);
const config = (changes: Record<string, unknown> = {}): string => rig.config(changes);

describe('run', () => {
  test('brings every series of the page to the back end, and stops cleanly on SIGTERM', async () => {
    const daemon = rig.run();
    const before = rig.receiver.requestCount;
    await until('three requests', () => rig.receiver.requestCount >= before + 3);
    // The page was compared with the catalog.
    const [target] = (await daemon.status()).targets;
    const families = ['dist', 'engine', 'multimaster', 'process', 'proxy'];
    expect(Object.keys(target?.drift ?? {}).sort()).toEqual(families);
    const { stdout, stderr } = await daemon.stop();
    expect(new Set(rig.receiver.points.map(point => point.metric)).size).toBe(191);
    expect(stdout + stderr).not.toContain(CANARY);
  });

  test('the last line of the log says what is kept for the next start', async () => {
    using directory = tempDirectory();
    rig.receiver.behave = () => 503;
    const daemon = rig.run(
      config({ logs: { enabled: true }, queue: { directory: directory.path } }),
    );
    await daemon.shows('logs wait', ({ queue }) =>
      queue.some(({ signal, rows }) => signal === 'logs' && rows > 0),
    );
    const { stderr } = await daemon.stop();
    rig.receiver.behave = () => 200;
    const { left, kept } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as {
      left: number;
      kept: string;
    };
    expect(left).toBeGreaterThan(0);
    const [, requests] =
      /: requests that wait: ([\d,]+); targets with series: 1; services with a position in their logs: 4$/.exec(
        kept,
      ) ?? [];
    expect(kept).toContain(`in ${directory.path}: `);
    expect(Number(requests?.replace(',', ''))).toBeGreaterThan(0);
  });

  test('a service that does not answer holds up neither a reload nor the stop', async () => {
    const key = `\${file:${rig.directory.path}/key}`;
    const api = { base_url: rig.simulator.url, key, timeout: '60s' };
    rig.simulator.setFaults({ isSilent: true });
    const metrics = { interval: '60s' };
    const daemon = rig.run(config({ api, metrics }));
    await daemon.ready();
    const startedMs = performance.now();
    daemon.child.kill('SIGHUP');
    await until('it was loaded again', () => daemon.stderr().includes('loaded again'));
    const { stderr } = await daemon.stop();
    // The timeout of the scrape is a minute.
    expect(performance.now() - startedMs).toBeLessThan(30_000);
    // A scrape that the daemon aborts is not reported as a failure of the service.
    expect(stderr).not.toContain('aborted');
    rig.simulator.resetFaults();
  });

  test('stops now on the second signal', async () => {
    rig.receiver.behave = () => 'silent';
    const daemon = rig.run();
    const before = rig.receiver.requestCount;
    await until('a request that is not answered', () => rig.receiver.requestCount > before);
    daemon.child.kill('SIGTERM');
    await until('it says that it stops', () => daemon.stderr().includes('stopping'));
    daemon.child.kill('SIGTERM');
    const started = performance.now();
    expect((await daemon.finished).code).toBe(1);
    expect(performance.now() - started).toBeLessThan(3000);
    rig.receiver.behave = () => 200;
  });

  test('stops now on the second signal, also during a reload', async () => {
    rig.simulator.setFaults({ isSilent: true });
    const daemon = rig.run();
    await daemon.ready();
    // The reload waits two seconds for the service to answer.
    daemon.child.kill('SIGHUP');
    // Two signals at once may count as one.
    await until('it ends', () => !daemon.child.kill('SIGTERM'));
    const { code, stderr } = await daemon.finished;
    expect(stderr).toContain('stopping:');
    expect(stderr).not.toMatch(/loaded again[^]*stopping:|BUG/);
    expect(code).toBe(1);
    rig.simulator.resetFaults();
  });
});

test('delta temporality has its effect, and no message denies it', async () => {
  const changes = { otlp: { endpoint: rig.receiver.url, temporality: 'delta' } };
  const file = config(changes);
  const checked = await run(['check', '--config', file]);
  expect(checked.code).toBe(0);
  expect(checked.stderr).not.toContain('temporality');
  const before = rig.receiver.counters.length;
  const daemon = rig.run(file);
  await until('counters have grown', () => rig.receiver.counters.length > before);
  expect((await daemon.status()).notes).toEqual([]);
  const { stderr } = await daemon.stop();
  expect(stderr).not.toMatch(/"level":"(warn|error)"/);
  const counters = rig.receiver.counters.slice(before);
  expect(counters.filter(({ temporality }) => temporality !== 'delta')).toEqual([]);
});

describe('own telemetry', () => {
  const own = () => rig.receiver.points.filter(({ serviceName }) => serviceName === 'prom2otlp');

  test('uses the same queue and sender, and delivers its last numbers at the stop', async () => {
    const daemon = rig.run(config({ telemetry: { interval: '1s' } }));
    await until('its first numbers', () => own().length > 0);
    const { stderr } = await daemon.stop();
    expect(stderr).toMatch(/"left":0,"kept":"nothing: [^"]*","msg":"stopped"/);
    const names = new Set(own().map(({ metric }) => metric));
    expect([...names]).toEqual(
      expect.arrayContaining([
        'prom2otlp_build_info',
        'prom2otlp_decode_pages_total',
        'prom2otlp_process_resident_memory_bytes',
        'prom2otlp_process_event_loop_delay_max_seconds',
        'prom2otlp_queue_oldest_age_seconds',
        'prom2otlp_send_points_total',
      ]),
    );
  });

  test('of a single cycle is delivered with it, and the result is printed', async () => {
    const before = own().length;
    const { code, stdout } = await run(['once', '--config', config({ telemetry: {} })]);
    expect(stdout).toContain('dbpgf10000001 (orders)');
    expect(code).toBe(0);
    expect(own().length).toBeGreaterThan(before);
  });
});

test('once gives a dead back end otlp.timeout, and says why', async () => {
  const startedMs = performance.now();
  const otlp = { endpoint: 'http://127.0.0.1:9', timeout: '2s' };
  const { code, stderr } = await run(['once', '--config', config({ otlp })]);
  expect(stderr).toContain('metrics to http://127.0.0.1:9/v1/metrics: ');
  expect(stderr).toContain('ECONNREFUSED');
  expect(code).toBe(1);
  // Without otlp.timeout as its limit, `once` would try for a minute.
  expect(performance.now() - startedMs).toBeLessThan(30_000);
});

test('once gives a dead service one try for each part, and says why', async () => {
  using directory = tempDirectory();
  const file = directory.write(
    'dead.yaml',
    JSON.stringify({
      api: { base_url: 'http://127.0.0.1:9', key: 'no-key' },
      services: [{ id: 'a' }],
      logs: { enabled: true, first_start: 'beginning' },
      backups: { enabled: true },
      otlp: { endpoint: 'http://127.0.0.1:9', timeout: '1s' },
      queue: { directory: null },
    }),
  );
  const startedMs = performance.now();
  const { code, stdout, stderr } = await run(['once', '--config', file]);
  expect(stdout).toMatch(/^a +no .* refused$/m);
  expect(stderr).toMatch(/^logs of 127\.0\.0\.1:9 \(a\): .*ECONNREFUSED.*; check host and port/m);
  expect(code).toBe(1);
  // The pull of logs by itself would try for five minutes.
  expect(performance.now() - startedMs).toBeLessThan(60_000);
});

test('check shows all mistakes at their places and exits with 2', async () => {
  const file = rig.directory.write('bad.yaml', 'api:\n  base_url: nope\nservces: []\n');
  const { code, stderr } = await run(['check', '--config', file]);
  expect(stderr).toMatch(/bad\.yaml:2:13: api\.base_url: /);
  expect(stderr).toMatch(/bad\.yaml:3:1: servces: .*services/);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(code).toBe(2);
});
