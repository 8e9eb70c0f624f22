// The daemon as a process of its own, between the simulated service and a receiver.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type CheckedReceiver, startCheckedReceiver } from '../support/checked-receiver.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { run, start, tempDirectory, until } from '../support/program.ts';

const CANARY = 'canary-5f1d0c9b';
const directory = tempDirectory();
let simulator: Simulator;
let receiver: CheckedReceiver;

beforeAll(async () => {
  simulator = await startSimulator({ clock, key: CANARY, refreshMs: 1000 });
  receiver = await startCheckedReceiver({
    clock,
  });
});

afterAll(async () => {
  await simulator.close();
  await receiver.close();
  directory[Symbol.dispose]();
});

// Each test starts processes of its own, which know nothing of those before.
beforeEach(() => receiver.gate.anotherSender());

function config(changes: Record<string, unknown> = {}): string {
  const key = directory.write('key', `${CANARY}\n`);
  return directory.write(
    'prom2otlp.yaml',
    JSON.stringify({
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
      api: { base_url: simulator.url, key: `\${file:${key}}`, timeout: '1s' },
      services: simulator.world.services.map(({ id, name }) => ({ id, name })),
      metrics: { interval: '1s' },
      otlp: { endpoint: receiver.url },
      queue: { directory: null },
      status: { listen: '127.0.0.1:0' },
      telemetry: { enabled: false },
      ...changes,
    }),
  );
}

describe('run', () => {
  test('brings every series of the page to the back end, and stops cleanly on SIGTERM', async () => {
    const daemon = start(['run', '--config', config()]);
    const before = receiver.totals.requests;
    await until('three requests', () => receiver.totals.requests >= before + 3);
    daemon.child.kill('SIGTERM');
    const { code, stdout, stderr } = await daemon.finished;
    expect(code).toBe(0);
    expect(new Set(receiver.points.map(point => point.name)).size).toBe(166);
    expect(stdout + stderr).not.toContain(CANARY);
  });

  test('stops now on the second signal', async () => {
    receiver.behave({ isSilent: true });
    const daemon = start(['run', '--config', config()]);
    const before = receiver.totals.requests;
    await until('a request that is not answered', () => receiver.totals.requests > before);
    daemon.child.kill('SIGTERM');
    await until('it says that it stops', () => daemon.stderr().includes('stopping'));
    daemon.child.kill('SIGTERM');
    const started = performance.now();
    expect((await daemon.finished).code).toBe(1);
    expect(performance.now() - started).toBeLessThan(3000);
    receiver.behave({});
  });
});

test('delta temporality has its effect, and no message denies it', async () => {
  const changes = { otlp: { endpoint: receiver.url, temporality: 'delta' } };
  const file = config(changes);
  const checked = await run(['check', '--config', file]);
  expect([checked.code, checked.stderr]).toEqual([0, '']);
  const isCounter = ({ kind }: { readonly kind: string }): boolean => kind === 'sum';
  const before = receiver.points.length;
  const daemon = start(['run', '--config', file]);
  await until('counters have grown', () => receiver.points.slice(before).some(isCounter));
  const url = /"status":"(http[^"]+)"/.exec(daemon.stderr())?.[1] ?? '';
  const report = (await (await fetch(`${url}/status.json`)).json()) as { notes: string[] };
  expect(report.notes).toEqual([]);
  daemon.child.kill('SIGTERM');
  const { stderr } = await daemon.finished;
  expect(stderr).not.toMatch(/"level":"(warn|error)"/);
  const counters = receiver.points.slice(before).filter(isCounter);
  expect(counters.filter(({ isDelta }) => !isDelta)).toEqual([]);
});

describe('own telemetry', () => {
  const own = (): typeof receiver.points =>
    receiver.points.filter(({ resource }) => resource['service.name'] === 'prom2otlp');

  test('uses the same queue and sender, and delivers its last numbers at the stop', async () => {
    const daemon = start(['run', '--config', config({ telemetry: { interval: '1s' } })]);
    await until('its first numbers', () => own().length > 0);
    daemon.child.kill('SIGTERM');
    const { code, stderr } = await daemon.finished;
    expect(code).toBe(0);
    expect(stderr).toMatch(/"left":0,"msg":"stopped"/);
    const names = new Set(own().map(({ name }) => name));
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

  test('of a single cycle is delivered with it', async () => {
    const before = own().length;
    const { code } = await run(['once', '--config', config({ telemetry: {} })]);
    expect(code).toBe(0);
    expect(own().length).toBeGreaterThan(before);
  });
});

describe('once', () => {
  test('delivers one cycle and prints the result', async () => {
    const { code, stdout } = await run(['once', '--config', config()]);
    expect(stdout).toContain('dbpgf10000001');
    expect(code).toBe(0);
  });

  test('exits with 1 when the back end refuses', async () => {
    receiver.behave({ status: 400 });
    const { code } = await run(['once', '--config', config()]);
    receiver.behave({});
    expect(code).toBe(1);
  });
});

describe('check', () => {
  test('accepts a valid configuration', async () => {
    const { code, stdout } = await run(['check', '--config', config()]);
    expect(stdout).toContain('valid: 4 services, polled every');
    expect(code).toBe(0);
  });

  test('asks both ends with --probe', async () => {
    const { code, stdout } = await run(['check', '--config', config(), '--probe']);
    expect(stdout).toContain('dbpgf10000003');
    expect(stdout).toContain('accepts');
    expect(code).toBe(0);
  });

  test('says that the key may be wrong, without showing it', async () => {
    simulator.key = 'another';
    const { code, stdout, stderr } = await run(['check', '--config', config(), '--probe']);
    simulator.key = CANARY;
    expect(stdout).toMatch(/the key may be wrong/);
    expect(stdout + stderr).not.toContain(CANARY);
    expect(code).toBe(1);
  });

  test('shows all mistakes at their places and exits with 2', async () => {
    const file = directory.write('bad.yaml', 'api:\n  base_url: nope\nservces: []\n');
    const { code, stderr } = await run(['check', '--config', file]);
    expect(stderr).toMatch(/bad\.yaml:2:13: api\.base_url: /);
    expect(stderr).toMatch(/bad\.yaml:3:1: servces: .*services/);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(code).toBe(2);
  });
});
