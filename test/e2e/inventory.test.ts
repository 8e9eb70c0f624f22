// A simulated inventory in the real daemon: a service that is stopped, one in maintenance, two regions, and a key without
// the right to any of it.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StatusDocument } from '../../src/status/status-report.ts';
import { type Running, run, until } from '../support/program.ts';
import { useRigForEach } from '../support/rig.ts';

const rig = useRigForEach();
const INVENTORY = '/provisioning/v1/services';

function configure(changes: Readonly<Record<string, unknown>> = {}): string {
  const queue = { directory: join(rig.directory.path, 'queue') };
  return rig.config({ queue, inventory: { interval: '1s' }, ...changes });
}

const reasonOf = ({ services }: StatusDocument, id: string): string | undefined =>
  services.find(one => one.id === id)?.reason;

/** The lines of the daemon's own metric about this service. */
async function ownMetric(daemon: Running, name: string, id: string): Promise<readonly string[]> {
  const answer = await fetch(`${await daemon.ready()}/metrics`);
  const lines = (await answer.text()).split('\n');
  return lines.filter(line => line.startsWith(`${name}{`) && line.includes(`service="${id}"`));
}

/** The different Resources of a service's points. */
const resourcesOf = (id: string): readonly string[] => [
  ...new Set(
    rig.receiver.points.filter(one => one.serviceId === id).map(({ resource }) => resource),
  ),
];

const listings = (): number =>
  rig.simulator.latest.filter(({ url }) => url.startsWith(INVENTORY)).length;

test('every point has provider and region, also when the inventory fails and after a restart', async () => {
  const [id = ''] = rig.ids;
  const file = configure();
  const first = rig.run(file);
  await until('points', () => rig.came(id) > 0, 20_000);
  rig.simulator.setFaults({ path: INVENTORY, status: 403 });
  const before = listings();
  await until('two refusals', () => listings() >= before + 2, 20_000);
  await first.stop();
  const came = rig.came(id);
  const second = rig.run(file);
  await until('points of the second', () => rig.came(id) > came, 20_000);
  await second.stop();
  const [resource = '', ...others] = resourcesOf(id);
  expect(others).toEqual([]);
  expect(resource).toContain('cloud.provider=simulated');
  expect(resource).toContain('cloud.region=eu-1');
  // What changes with an upgrade is only in prom2otlp_service_info.
  expect(resource).not.toContain('11.4.5');
});

test('a stopped service is stopped, not down, and comes back', async () => {
  const [id = '', other = ''] = rig.ids;
  const daemon = rig.run(configure());
  await until('points', () => rig.came(id) > 0, 20_000);
  rig.simulator.world.stopped = [id];
  await daemon.shows('that it is stopped', seen => reasonOf(seen, id) === 'stopped', 20_000);
  const { problems, services } = await daemon.status();
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(services.find(one => one.id === other)?.isUp).toBe(true);
  expect(await ownMetric(daemon, 'prom2otlp_service_up', id)).toEqual([
    `prom2otlp_service_up{service="${id}",reason="stopped"} 0`,
  ]);
  expect((await (await fetch(await daemon.ready())).text()).includes('>stopped<')).toBe(true);
  rig.simulator.world.stopped = [];
  await daemon.shows('that it is back', seen => reasonOf(seen, id) === '', 20_000);
  const { stderr } = await daemon.stop();
  expect(stderr).toContain('the service is stopped');
  // Its series were kept meanwhile: no start has moved.
  expect(rig.disturbed).toEqual([]);
});

test('once succeeds where the only missing service is stopped', async () => {
  const [id = ''] = rig.ids;
  rig.simulator.world.stopped = [id];
  const { code, stdout } = await run(['once', '--config', configure()]);
  expect(code, stdout).toBe(0);
  expect(stdout).toContain('stopped');
});

test('a maintenance begins and ends: the gauge, the log and the page say so', async () => {
  const [id = '', other = ''] = rig.ids;
  const daemon = rig.run(configure());
  const maintenance = async (service: string): Promise<string | undefined> =>
    (await ownMetric(daemon, 'prom2otlp_service_maintenance_state', service))[0]?.split(' ')[1];
  await until('the inventory', async () => (await maintenance(id)) === '0', 20_000);
  rig.simulator.world.maintained = [id];
  await until('the maintenance', async () => (await maintenance(id)) === '1', 20_000);
  expect(await maintenance(other)).toBe('0');
  rig.simulator.setFaults({ absentServices: [id] });
  await daemon.shows('that it is absent', seen => reasonOf(seen, id) === 'absent', 20_000);
  const { problems } = await daemon.status();
  expect(problems.map(({ severity }) => severity)).not.toContain('error');
  rig.simulator.world.maintained = [];
  await until('its end', async () => (await maintenance(id)) === '0', 80_000);
  const { stderr } = await daemon.stop();
  expect(stderr).toContain('the maintenance of a service begins');
  expect(stderr).toContain('the maintenance of a service ends');
}, 120_000);

test('one daemon with `services: auto` reads two regions, and each service in its own', async () => {
  const apis = ['eu-1', 'us-1'].map(region => ({ headers: { 'X-Region': region } }));
  const daemon = rig.run(configure({ services: { auto: { api: apis, gone_after: '2s' } } }));
  await until('all services', () => rig.ids.every(id => rig.came(id) > 0), 30_000);
  const { targets, services } = await daemon.status();
  expect(targets).toHaveLength(2);
  expect(services.map(({ id }) => id)).toEqual(rig.ids.toSorted());
  const regions = new Map(services.map(({ id, inventory }) => [id, inventory?.region]));
  expect(rig.ids.map(id => regions.get(id))).toEqual(['eu-1', 'us-1', 'eu-1', 'us-1']);
  // A stopped service is never gone, however long its page lacks it.
  const [id = ''] = rig.ids;
  rig.simulator.world.stopped = [id];
  await daemon.shows('that it is stopped', seen => reasonOf(seen, id) === 'stopped', 20_000);
  const pages = rig.came(rig.ids[2] ?? '');
  await until('more pages', () => rig.came(rig.ids[2] ?? '') > pages + 2000, 60_000);
  expect(reasonOf(await daemon.status(), id)).toBe('stopped');
  await daemon.stop();
}, 120_000);

test('a key without the right reads all else as before, and this is said once', async () => {
  const [id = ''] = rig.ids;
  rig.simulator.setFaults({ path: INVENTORY, status: 401 });
  const daemon = rig.run(configure());
  await until('points', () => rig.came(id) > 0, 20_000);
  const before = listings();
  await until('three refusals', () => listings() >= before + 3, 20_000);
  const { services, problems, pulls } = await daemon.status();
  expect(services.every(({ isUp }) => isUp)).toBe(true);
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(pulls.map(({ isKeyRefused }) => isKeyRefused)).toEqual([false]);
  expect(await ownMetric(daemon, 'prom2otlp_service_info', id)).toEqual([]);
  const { stderr } = await daemon.stop();
  expect(stderr.split('the key sees no inventory of the services')).toHaveLength(2);
});

test('switched off, nothing asks for it', async () => {
  const daemon = rig.run(configure({ inventory: { enabled: false } }));
  await until('points', () => rig.came(rig.ids[0] ?? '') > 0, 20_000);
  await daemon.stop();
  expect(listings()).toBe(0);
});
