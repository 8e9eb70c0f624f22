// The verbs for the queue, on the queue of a real daemon: they show its contents and take nothing from the daemon.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useRig } from '../support/rig.ts';
import { run, until } from '../support/program.ts';

const rig = useRig();
let config: string;

beforeAll(() => {
  config = rig.config({
    otlp: { endpoint: 'http://localhost:1' },
    queue: { directory: join(rig.directory.path, 'queue') },
    telemetry: { interval: '1s' },
  });
});

interface Inspection {
  readonly signals: readonly { readonly requests: number; readonly points: number }[];
  readonly services: readonly { readonly service: string }[];
  readonly account: { readonly total: { readonly points: Readonly<Record<string, number>> } };
}

async function inspect(): Promise<Inspection> {
  const { code, stdout, stderr } = await run([
    'queue',
    'inspect',
    '--format',
    'json',
    '--config',
    config,
  ]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Inspection;
}

test('the queue of an outage is inspected, exported, and drained to another receiver', async () => {
  const daemon = rig.run(config);
  await until('the queue is open', () => existsSync(join(rig.directory.path, 'queue', 'reserve')));
  await until('three requests wait', async () => {
    const [metrics] = (await inspect()).signals;
    return (metrics?.requests ?? 0) >= 3;
  });
  const held = await run(['queue', 'drain', '--config', config]);
  expect(held).toMatchObject({ code: 1, stderr: expect.stringMatching(/process \d+ is using it/) });
  await daemon.stopNow();

  const { signals, services, account } = await inspect();
  const points = signals[0]?.points ?? 0;
  expect(new Set(services.map(({ service }) => service))).toEqual(
    new Set([...rig.ids, 'prom2otlp']),
  );
  expect(account.total.points).toMatchObject({ made: points, accepted: 0, queued: points });

  const exported = await run(['queue', 'export', '--config', config]);
  expect(exported.code).toBe(0);
  expect(exported.stdout.trimEnd().split('\n')).toHaveLength(signals[0]?.requests ?? 0);

  const drain = ['queue', 'drain', '--config', config, '--endpoint', rig.receiver.url];
  const drained = await run(drain);
  expect(drained, drained.stderr).toMatchObject({ code: 0 });
  expect(rig.receiver.points).toHaveLength(points);
  expect((await inspect()).account.total.points).toMatchObject({ accepted: points, queued: 0 });
});

test('points that were refused are sent by a later cycle', async () => {
  const changed = { OTEL_EXPORTER_OTLP_ENDPOINT: rig.receiver.url };
  const [first] = rig.simulator.world.services;
  const changes = { otlp: {}, services: [{ id: first?.id }], log: { level: 'silent' } };
  const queue = { directory: join(rig.directory.path, 'cycles') };
  const file = rig.config({ ...changes, queue }, 'once.yaml');
  rig.receiver.behave = ({ raw }) => (raw.length > 0 ? 400 : 200);
  const refused = await run(['once', '--config', file], changed);
  expect(refused.code).toBe(1);
  rig.receiver.behave = () => 200;
  const { code, stdout } = await run(['once', '--config', file], changed);
  const made = columnsOf(refused.stdout).points + columnsOf(stdout).points;
  expect(columnsOf(stdout)).toMatchObject({ accepted: made, rejected: 0, queued: 0 });
  expect(code).toBe(0);
});

/** The numbers of the only service in the table of `once`. */
function columnsOf(table: string): Record<'points' | 'accepted' | 'rejected' | 'queued', number> {
  const [, points, accepted, rejected, queued] =
    / yes +\d+ +(\d+) +(\d+) +(\d+) +(\d+)/.exec(table)?.map(Number) ?? [];
  return { points, accepted, rejected, queued } as ReturnType<typeof columnsOf>;
}
