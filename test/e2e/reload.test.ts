// A running daemon whose configuration changes: by SIGHUP, by files that are renamed into place, by directories that
// are swapped as Kubernetes does. Unchanged services continue undisturbed, and a wrong configuration changes nothing.

import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useRigForEach } from '../support/rig.ts';
import { type Running, until } from '../support/program.ts';

const CANARY = 'canary-1b9e22d7';
const ROTATED = 'canary-77aa01ce';

const rig = useRigForEach(CANARY);

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

/** Replaces a file with `NAME.new` in one step. */
function replace(name: string): void {
  renameSync(join(rig.directory.path, `${name}.new`), join(rig.directory.path, name));
}

/** Replaces the configuration in use in one step, and has it loaded now, not when the files are checked next. */
function reload(daemon: Running, count: number, changes: Record<string, unknown> = {}): void {
  configure(count, changes, 'config.yaml.new');
  replace('config.yaml');
  daemon.child.kill('SIGHUP');
}

function rotate(key: string): void {
  rig.directory.write('key.new', key);
  replace('key');
}

/** Starts the daemon, and waits until it has scraped and sent. */
async function runScraping(scrapes = 1): Promise<Running> {
  const daemon = rig.run(join(rig.directory.path, 'config.yaml'));
  await until('a scrape', () => rig.receiver.requestCount >= scrapes);
  return daemon;
}

/** Waits until `count` more requests have arrived. */
async function moreScrapes(count: number): Promise<void> {
  const before = rig.receiver.requestCount;
  await until('more scrapes', () => rig.receiver.requestCount >= before + count);
}

const isUp = (daemon: Running, isWanted: boolean): Promise<boolean> =>
  daemon.shows(`up: ${isWanted}`, ({ services }) => services[0]?.isUp === isWanted);

/** Waits until the status shows exactly one mistake of the configuration; returns the mistake. */
const mistakeOf = (daemon: Running): Promise<string> =>
  daemon.shows('the mistake on the page', ({ reload }) =>
    reload?.mistakes.length === 1 ? reload.mistakes[0] : undefined,
  );

test('SIGHUP adds a service, and the others continue unchanged', async () => {
  configure(2);
  const running = await runScraping(2);
  const [first = '', , third = ''] = rig.ids;
  for (let turn = 0; turn < 3; turn++) {
    configure(2 + (turn % 2 === 0 ? 2 : 0));
    running.child.kill('SIGHUP');
    await moreScrapes(2);
  }
  expect(rig.came(first)).toBeGreaterThan(0);
  expect(rig.came(third)).toBeGreaterThan(0);
  const { reload, services } = await running.status();
  expect(reload?.mistakes).toEqual([]);
  expect(services).toHaveLength(4);
  const { stderr } = await running.stop();
  expect(stderr).toContain('the configuration was loaded again');
  expect(rig.disturbed).toEqual([]);
  expect(rig.series.size).toBeGreaterThan(200);
});

test('swapped directories are noticed without a signal', async () => {
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
  const running = await runScraping();
  const [, second = ''] = rig.ids;
  expect(rig.came(second)).toBe(0);
  symlinkSync('..2', join(rig.directory.path, '..data_tmp'));
  renameSync(join(rig.directory.path, '..data_tmp'), join(rig.directory.path, '..data'));
  await until('the second service', () => rig.came(second) > 0);
  expect(running.child.exitCode).toBeNull();
});

test('a file with a mistake changes nothing, and is reported until it is fixed', async () => {
  configure(1);
  const running = await runScraping();
  reload(running, 2, { metrics: { intervall: '1s' } });
  expect(await mistakeOf(running)).toMatch(/config\.yaml:1:\d+: .*intervall.*interval/);
  const [problem] = (await running.status()).problems;
  const message = expect.stringContaining('the previous one stays in use');
  expect(problem).toMatchObject({ severity: 'error', message });
  await moreScrapes(1);
  reload(running, 1, { status: { listen: '127.0.0.1:1' } });
  await until('what takes a restart', () =>
    running.stderr().includes('cannot change status while running'),
  );
  reload(running, 2);
  await running.shows('the mended one', ({ services }) => services.length === 2);
  const { problems } = await running.status();
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
});

test('a rotated key is used once its file changes, and appears nowhere', async () => {
  configure(1);
  const running = await runScraping();
  rotate(ROTATED);
  rig.simulator.key = ROTATED;
  await moreScrapes(3);
  await isUp(running, true);
  const shown = JSON.stringify(await running.status());
  const { stdout, stderr } = await running.stop();
  for (const secret of [CANARY, ROTATED]) expect(stdout + stderr + shown).not.toContain(secret);
  expect(rig.disturbed).toEqual([]);
  expect(rig.series.size).toBeGreaterThan(200);
});

test('a rotated key that cannot be used is reported, and the former one stays in use', async () => {
  configure(1);
  const running = await runScraping();
  // While the key is refused, each attempt reads the file again.
  rig.simulator.key = ROTATED;
  await isUp(running, false);
  rotate('\n');
  running.child.kill('SIGHUP');
  expect(await mistakeOf(running)).toMatch(/config\.yaml:.*api\.key: .*empty/);
  expect(running.stderr()).toContain('the changed configuration is not used');
  // The renamed file is noticed without a signal.
  rotate(ROTATED);
  await isUp(running, true);
  await running.shows('no mistake', ({ reload }) => reload?.mistakes.length === 0);
});
