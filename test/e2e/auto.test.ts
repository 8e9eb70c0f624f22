// `services: auto` in the real daemon: services that appear on the page are read, services that leave it stay for a
// while, and a start without the API uses the last list.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StatusDocument } from '../../src/status/status-report.ts';
import { useRigForEach } from '../support/rig.ts';
import { run, until } from '../support/program.ts';

const rig = useRigForEach();

function configure(auto: Readonly<Record<string, unknown>>, changes = {}): string {
  const queue = { directory: join(rig.directory.path, 'queue') };
  return rig.config({ services: { auto }, queue, ...changes });
}

const idsOf = ({ services }: StatusDocument): readonly string[] => services.map(({ id }) => id);

/** The values of a service's `up`, in order of arrival. */
const ups = (id: string): readonly number[] =>
  rig.receiver.points
    .filter(({ serviceId, metric }) => serviceId === id && metric === 'up')
    .map(({ value }) => value as number);

test('services come and go with the page, and no start moves', async () => {
  const [first = '', second = '', third = '', fourth = ''] = rig.ids;
  rig.simulator.setFaults({ absentServices: [third, fourth] });
  const daemon = rig.run(configure({ gone_after: '4s' }));
  await until('the first two', () => rig.came(first) > 0 && rig.came(second) > 0);
  const named = rig.receiver.points.find(({ serviceId }) => serviceId === first);
  expect(named?.serviceName).toBe('orders');

  // One comes as another goes.
  rig.simulator.setFaults({ absentServices: [second, fourth] });
  await until('`up` 0 of the second', () => ups(second).at(-1) === 0);
  expect(idsOf(await daemon.status())).toContain(second);
  await until('the third', () => rig.came(third) > 0, 20_000);
  const isGone = (seen: StatusDocument): boolean => !idsOf(seen).includes(second);
  await daemon.shows('that it is gone', isGone, 30_000);
  const { discovery } = await daemon.status();
  expect(discovery?.changes[0]).toMatchObject({ id: second, change: 'gone' });
  expect(daemon.stderr()).toContain('services are gone');
  const before = ups(second).length;
  const now = ups(first).length;
  await until('two more pages', () => ups(first).length >= now + 2);
  expect(ups(second)).toHaveLength(before);

  rig.simulator.setFaults({ absentServices: [fourth] });
  await until('its return', () => ups(second).at(-1) === 1, 30_000);
  await daemon.stop();

  // This includes the service that was gone: its series were kept.
  expect(rig.disturbed).toEqual([]);
});

test('a refused key, an empty page and a failing API remove nothing', async () => {
  const daemon = rig.run(configure({ gone_after: '1s' }));
  await until('all services', () => rig.ids.every(id => rig.came(id) > 0), 20_000);
  rig.simulator.key = 'another';
  await until('`up` 0', () => ups(rig.ids[0] ?? '').at(-1) === 0);
  rig.simulator.setFaults({ status: 503 });
  // A new key ends the hold.
  rig.directory.write('key', 'another\n');
  const fails = (reason: string) =>
    daemon.shows(reason, ({ services }) => services.some(service => service.reason === reason));
  await fails('server_error');
  rig.simulator.resetFaults();
  rig.simulator.setFaults({ body: 'empty' });
  await fails('empty');
  expect(idsOf(await daemon.status())).toEqual(rig.ids.toSorted());
  rig.simulator.resetFaults();
  await until('`up` 1', () => ups(rig.ids[0] ?? '').at(-1) === 1);
});

test('a start without the API knows the services of the last run', async () => {
  const file = configure({ exclude: [rig.ids[3] ?? ''] });
  const first = rig.run(file);
  const known = rig.ids.slice(0, 3);
  await until('three services', () => known.every(id => rig.came(id) > 0), 20_000);
  await first.kill();
  rig.simulator.setFaults({ status: 503 });
  const before = rig.receiver.points.length;
  const second = rig.run(file);
  await until('`up` 0 of each', () => {
    const came = rig.receiver.points.slice(before).filter(({ metric }) => metric === 'up');
    return known.every(id => came.some(({ serviceId, value }) => serviceId === id && value === 0));
  });
  expect(rig.came(rig.ids[3] ?? '')).toBe(0);
  expect(idsOf(await second.status())).toEqual(known.toSorted());
});

test('logs and backups follow the same list', async () => {
  const key = `\${file:${rig.directory.path}/key}`;
  const file = configure(
    { include: ['orders', 'ledger'] },
    {
      api: { base_url: rig.simulator.url, key, timeout: '10s' },
      metrics: { interval: '10s' },
      logs: { enabled: true },
      backups: { enabled: true },
    },
  );
  const { code, stdout } = await run(['once', '--config', file]);
  expect(code, stdout).toBe(0);
  const has = (id: string): readonly boolean[] => [
    rig.receiver.logBodies.some(body => body.includes(id)),
    rig.receiver.points.some(
      ({ serviceId, metric }) => serviceId === id && metric.startsWith('prom2otlp_backup_'),
    ),
  ];
  expect(rig.ids.map(has)).toEqual([
    [true, true],
    [true, true],
    [false, false],
    [false, false],
  ]);
});

test('services are read at once after the page that names them, and an edit excludes one at once', async () => {
  // The next page is far away.
  const file = configure({}, { metrics: { interval: '1h' } });
  const daemon = rig.run(file);
  await until('all services', () => rig.ids.every(id => rig.came(id) > 0), 20_000);
  expect(rig.ids.map(id => ups(id))).toEqual(rig.ids.map(() => [1]));
  configure({ exclude: ['ledger'] }, { metrics: { interval: '1h' } });
  daemon.child.kill('SIGHUP');
  await daemon.shows('three services', seen => idsOf(seen).length === 3);
  expect(idsOf(await daemon.status())).not.toContain(rig.ids[1]);
  await daemon.stop();
});
