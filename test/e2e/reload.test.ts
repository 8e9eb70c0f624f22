// A running daemon whose configuration changes: by SIGHUP, by files that are renamed into place, by directories that
// are swapped as Kubernetes does. What did not change goes on undisturbed, what is wrong changes nothing.

import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Rig } from '../support/rig.ts';
import { type Running, start, until } from '../support/program.ts';

const CANARY = 'canary-1b9e22d7';
const ROTATED = 'canary-77aa01ce';

let rig: Rig;
let daemon: Running | null = null;

beforeEach(async () => {
  rig = new Rig(CANARY);
  await rig.open(250);
});

afterEach(async () => {
  await daemon?.kill();
  daemon = null;
  await rig.close();
});

/** Writes the configuration for the first services of the simulator. */
function configure(
  count: number,
  changes: Record<string, unknown> = {},
  name = 'config.yaml',
): void {
  const services = rig.ids.slice(0, count);
  const queue = { directory: join(rig.directory.path, 'queue') };
  rig.config({ services: services.map(id => ({ id })), queue, ...changes }, name);
}

/** Puts `NAME.new` in the place of a file in one step. */
function replace(name = 'config.yaml'): void {
  renameSync(join(rig.directory.path, `${name}.new`), join(rig.directory.path, name));
}

function run(file: string): Running {
  daemon = start(['run', '--config', join(rig.directory.path, file)]);
  return daemon;
}

/** No point twice, none out of order, no start moved: over everything that came. */
function expectUndisturbed(): void {
  const last = new Map<string, { time: bigint; start: string }>();
  for (const point of rig.receiver.points) {
    const { serviceId, metric, attributes } = point;
    const key = JSON.stringify([serviceId, metric, attributes]);
    const before = last.get(key);
    if (before !== undefined) {
      expect(BigInt(point.timeNs) > before.time, `${key}: comes after the one before`).toBe(true);
      expect(point.startNs, `${key}: start`).toBe(before.start);
    }
    last.set(key, { time: BigInt(point.timeNs), start: point.startNs });
  }
  expect(last.size).toBeGreaterThan(200);
}

test('SIGHUP adds a service, and the others continue unchanged', async () => {
  configure(2);
  const running = run('config.yaml');
  const [first = '', , third = ''] = rig.ids;
  await until('two scrapes', () => rig.receiver.requestCount >= 2);
  for (let turn = 0; turn < 5; turn++) {
    configure(2 + (turn % 2 === 0 ? 2 : 0));
    const before = rig.receiver.requestCount;
    running.child.kill('SIGHUP');
    await until('more scrapes', () => rig.receiver.requestCount > before + 1);
  }
  expect(rig.came(first)).toBeGreaterThan(0);
  expect(rig.came(third)).toBeGreaterThan(0);
  const seen = await until(
    'a report',
    async () => await running.statusIfKnown().then(s => s ?? false),
  );
  expect(seen.reload?.mistakes).toEqual([]);
  expect(seen.services).toHaveLength(4);
  const { stderr } = await running.stop();
  expect(stderr).toContain('the configuration was loaded again');
  expectUndisturbed();
});

test('a renamed file and swapped directories are noticed without a signal', async () => {
  // As Kubernetes mounts: config.yaml -> ..data/config.yaml, ..data -> ..1
  for (const [version, count] of [
    ['..1', 1],
    ['..2', 2],
  ] as const) {
    mkdirSync(join(rig.directory.path, version));
    configure(count, {}, `${version}/config.yaml`);
  }
  symlinkSync('..1', join(rig.directory.path, '..data'));
  symlinkSync('..data/config.yaml', join(rig.directory.path, 'config.yaml'));
  const running = run('config.yaml');
  const [, second = '', , fourth = ''] = rig.ids;
  await until('a scrape', () => rig.receiver.requestCount > 0);
  expect(rig.came(second)).toBe(0);
  symlinkSync('..2', join(rig.directory.path, '..data_tmp'));
  renameSync(join(rig.directory.path, '..data_tmp'), join(rig.directory.path, '..data'));
  await until('the second service', () => rig.came(second) > 0);
  configure(4, {}, 'config.yaml.new');
  replace();
  await until('the fourth service', () => rig.came(fourth) > 0);
  expect(running.child.exitCode).toBeNull();
});

test('a file with a mistake changes nothing, and is reported until it is fixed', async () => {
  configure(1);
  const running = run('config.yaml');
  await until('a scrape', () => rig.receiver.requestCount > 0);
  configure(2, { metrics: { intervall: '1s' } }, 'config.yaml.new');
  replace();
  const told = await until('the mistake on the page', async () => {
    const seen = await running.statusIfKnown();
    return seen?.reload?.mistakes.length === 1 && seen;
  });
  expect(told.reload?.mistakes[0]).toMatch(/config\.yaml:1:\d+: .*intervall.*interval/);
  expect(told.problems[0]).toMatchObject({ severity: 'error' });
  expect(told.problems[0]?.message).toContain('the previous one stays in use');
  const before = rig.receiver.requestCount;
  await until('it goes on', () => rig.receiver.requestCount > before);
  configure(1, { status: { listen: '127.0.0.1:1' } }, 'config.yaml.new');
  replace();
  await until('what takes a restart', () =>
    running.stderr().includes('cannot change status while running'),
  );
  configure(2, {}, 'config.yaml.new');
  replace();
  await until('the mended one', async () => (await running.statusIfKnown())?.services.length === 2);
  expect(
    (await running.statusIfKnown())?.problems.filter(({ severity }) => severity === 'error'),
  ).toEqual([]);
});

test('a rotated key is used once its file changes, and appears nowhere', async () => {
  configure(1);
  const running = run('config.yaml');
  await until('a scrape', () => rig.receiver.requestCount > 0);
  rig.directory.write('key.new', ROTATED);
  replace('key');
  rig.simulator.key = ROTATED;
  const before = rig.receiver.requestCount;
  await until('scrapes with the new key', () => rig.receiver.requestCount > before + 2);
  await until(
    'the service is up',
    async () => (await running.statusIfKnown())?.services[0]?.isUp === true,
  );
  const shown = JSON.stringify(await running.statusIfKnown());
  const { stdout, stderr } = await running.stop();
  for (const secret of [CANARY, ROTATED]) expect(stdout + stderr + shown).not.toContain(secret);
  expectUndisturbed();
});

test('a rotated key that cannot be used is reported, and the former one stays in use', async () => {
  configure(1);
  const running = run('config.yaml');
  await until('a scrape', () => rig.receiver.requestCount > 0);
  // The daemon reads the file again every two seconds while the key is refused.
  rig.simulator.key = ROTATED;
  await until(
    'the service refuses the key',
    async () => (await running.statusIfKnown())?.services[0]?.isUp === false,
  );
  rig.directory.write('key.new', '\n');
  replace('key');
  const told = await until('the mistake on the page', async () => {
    const seen = await running.statusIfKnown();
    return seen?.reload?.mistakes.length === 1 && seen;
  });
  expect(told.reload?.mistakes[0]).toMatch(/config\.yaml:.*api\.key: .*empty/);
  expect(running.stderr()).toContain('the changed configuration is not used');
  rig.directory.write('key.new', ROTATED);
  replace('key');
  await until(
    'the service is up',
    async () => (await running.statusIfKnown())?.services[0]?.isUp === true,
  );
  await until('no mistake', async () => {
    const seen = await running.statusIfKnown();
    return seen?.reload?.mistakes.length === 0;
  });
});
