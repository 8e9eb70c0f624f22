// The verbs for the queue beside a real daemon: what they see, and that they take nothing from it.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type CheckedReceiver, startCheckedReceiver } from '../support/checked-receiver.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { run, start, tempDirectory, until } from '../support/program.ts';

const directory = tempDirectory();
let simulator: Simulator;
let receiver: CheckedReceiver;
let config: string;

beforeAll(async () => {
  simulator = await startSimulator({ clock, key: 'k', refreshMs: 1000 });
  receiver = await startCheckedReceiver({
    clock,
    pointsMax: 100_000,
  });
  config = directory.write(
    'prom2otlp.yaml',
    JSON.stringify({
      api: { base_url: simulator.url, key: 'k', timeout: '1s' },
      services: simulator.world.services.map(({ id }) => ({ id })),
      metrics: { interval: '1s' },
      otlp: { endpoint: 'http://localhost:1' },
      queue: { directory: join(directory.path, 'queue') },
      status: { listen: '127.0.0.1:0' },
      telemetry: { interval: '1s' },
    }),
  );
});

afterAll(async () => {
  await simulator.close();
  await receiver.close();
  directory[Symbol.dispose]();
});

// Each test starts processes of its own, which know nothing of those before.
beforeEach(() => receiver.gate.anotherSender());

interface Inspection {
  readonly signals: readonly { readonly requests: number; readonly points: number }[];
  readonly services: readonly { readonly service: string }[];
  readonly account: { readonly total: { readonly points: Readonly<Record<string, number>> } };
}

async function inspect(): Promise<Inspection> {
  const { code, stdout, stderr } = await run(['queue', 'inspect', '--json', '--config', config]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Inspection;
}

test('the queue of an outage is inspected, exported, and drained to another receiver', async () => {
  const daemon = start(['run', '--config', config]);
  await until('the queue is open', () => existsSync(join(directory.path, 'queue', 'reserve')));
  await until('three requests wait', async () => {
    const [metrics] = (await inspect()).signals;
    return (metrics?.requests ?? 0) >= 3;
  });
  const held = await run(['queue', 'drain', '--config', config]);
  expect(held).toMatchObject({ code: 1, stderr: expect.stringMatching(/another process/) });
  daemon.child.kill('SIGTERM');
  await until('it stops', () => daemon.stderr().includes('"stopping:'));
  daemon.child.kill('SIGTERM');
  await daemon.finished;

  const { signals, services, account } = await inspect();
  const points = signals[0]?.points ?? 0;
  expect(new Set(services.map(({ service }) => service))).toEqual(
    new Set([...simulator.world.services.map(({ id }) => id), 'prom2otlp']),
  );
  expect(account.total.points).toMatchObject({ made: points, accepted: 0, queued: points });

  const exported = await run(['queue', 'export', '--config', config]);
  expect(exported.code).toBe(0);
  expect(exported.stdout.trimEnd().split('\n')).toHaveLength(signals[0]?.requests ?? 0);

  const drain = ['queue', 'drain', '--config', config, '--endpoint', receiver.url];
  const drained = await run(drain);
  expect(drained, drained.stderr).toMatchObject({ code: 0 });
  expect(receiver.points).toHaveLength(points);
  expect((await inspect()).account.total.points).toMatchObject({ accepted: points, queued: 0 });
});

test('points refused once do not fail every later cycle', async () => {
  const changed = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  const text = JSON.stringify({
    api: { base_url: simulator.url, key: 'k' },
    services: [{ id: simulator.world.services[0]?.id }],
    queue: { directory: join(directory.path, 'cycles') },
    telemetry: { enabled: false },
    log: { level: 'silent' },
  });
  const file = directory.write('once.yaml', text);
  receiver.behave({ status: 400 });
  expect(await run(['once', '--config', file], changed)).toMatchObject({ code: 1 });
  receiver.behave({});
  const { code, stdout } = await run(['once', '--config', file], changed);
  expect(stdout).toMatch(/ yes +(\d+) +(\d+) +\2 +0 +0/);
  expect(code).toBe(0);
});
