// A running daemon whose configuration changes: by SIGHUP, by files that are renamed into place, by directories that
// are swapped as Kubernetes does. What did not change goes on undisturbed, what is wrong changes nothing.

import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type CheckedReceiver, startCheckedReceiver } from '../support/checked-receiver.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { type Running, start, tempDirectory, until } from '../support/program.ts';

const CANARY = 'canary-1b9e22d7';
const ROTATED = 'canary-77aa01ce';

let directory: ReturnType<typeof tempDirectory>;
let simulator: Simulator;
let receiver: CheckedReceiver;
let daemon: Running | null = null;

beforeEach(async () => {
  directory = tempDirectory();
  simulator = await startSimulator({ clock, key: CANARY, refreshMs: 250 });
  receiver = await startCheckedReceiver({ clock, pointsMax: 200_000 });
  directory.write('key', CANARY);
});

afterEach(async () => {
  daemon?.child.kill('SIGKILL');
  await daemon?.finished;
  daemon = null;
  await simulator.close();
  await receiver.close();
  directory[Symbol.dispose]();
});

const ids = (): readonly string[] => simulator.world.services.map(({ id }) => id);

/** The configuration for the first services of the simulator, as text. */
function configText(serviceCount: number, changes: Record<string, unknown> = {}): string {
  return JSON.stringify({
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
    api: { base_url: simulator.url, key: '${file:key}', timeout: '1s' },
    services: ids()
      .slice(0, serviceCount)
      .map(id => ({ id })),
    metrics: { interval: '1s' },
    otlp: { endpoint: receiver.url },
    queue: { directory: join(directory.path, 'queue') },
    status: { listen: '127.0.0.1:0' },
    telemetry: { enabled: false },
    ...changes,
  });
}

/** Puts a file in place in one step. */
function replace(name: string, text: string): void {
  renameSync(directory.write(`${name}.new`, text), join(directory.path, name));
}

function run(file: string): Running {
  daemon = start(['run', '--config', join(directory.path, file)]);
  return daemon;
}

interface Status {
  readonly reload: { readonly at: string; readonly mistakes: readonly string[] } | null;
  readonly problems: readonly { readonly severity: string; readonly message: string }[];
  readonly services: readonly { readonly id: string; readonly isUp: boolean | null }[];
}

/** What the status address says; null while it is not known. */
async function status(running: Running): Promise<Status | null> {
  const [, url] = /"status":"([^"]+)"/.exec(running.stderr()) ?? [];
  if (url === undefined) return null;
  return (await (await fetch(`${url}/status.json`)).json()) as Status;
}

/** How many points of a service came. */
const came = (id: string): number =>
  receiver.points.filter(({ resource }) => Object.values(resource).includes(id)).length;

/** No point twice, none out of order, no start moved: over everything that came. */
function expectUndisturbed(): void {
  const last = new Map<string, { time: bigint; start: bigint }>();
  for (const point of receiver.points) {
    const { resource, name, attributes } = point;
    const key = JSON.stringify([resource['service.name'], name, attributes]);
    const before = last.get(key);
    if (before !== undefined) {
      expect(point.timeUnixNano > before.time, `${key}: comes after the one before`).toBe(true);
      expect(point.startTimeUnixNano, `${key}: start`).toBe(before.start);
    }
    last.set(key, { time: point.timeUnixNano, start: point.startTimeUnixNano });
  }
  expect(last.size).toBeGreaterThan(200);
}

test('SIGHUP adds a service, and the others continue unchanged', async () => {
  directory.write('config.yaml', configText(2));
  const running = run('config.yaml');
  const [first = '', , third = ''] = ids();
  await until('two scrapes', () => receiver.totals.requests >= 2);
  for (let turn = 0; turn < 5; turn++) {
    directory.write('config.yaml', configText(2 + (turn % 2 === 0 ? 2 : 0)));
    const before = receiver.totals.requests;
    running.child.kill('SIGHUP');
    await until('more scrapes', () => receiver.totals.requests > before + 1);
  }
  expect(came(first)).toBeGreaterThan(0);
  expect(came(third)).toBeGreaterThan(0);
  const seen = await until('a report', async () => await status(running).then(s => s ?? false));
  expect(seen.reload?.mistakes).toEqual([]);
  expect(seen.services).toHaveLength(4);
  running.child.kill('SIGTERM');
  const { code, stderr } = await running.finished;
  expect(code).toBe(0);
  expect(stderr).toContain('the configuration was loaded again');
  expectUndisturbed();
});

test('a renamed file and swapped directories are noticed without a signal', async () => {
  // As Kubernetes mounts: config.yaml -> ..data/config.yaml, ..data -> ..1
  for (const [version, count] of [
    ['..1', 1],
    ['..2', 2],
  ] as const) {
    mkdirSync(join(directory.path, version));
    writeFileSync(join(directory.path, version, 'config.yaml'), configText(count));
  }
  symlinkSync('..1', join(directory.path, '..data'));
  symlinkSync('..data/config.yaml', join(directory.path, 'config.yaml'));
  const running = run('config.yaml');
  const [, second = '', , fourth = ''] = ids();
  await until('a scrape', () => receiver.totals.requests > 0);
  expect(came(second)).toBe(0);
  symlinkSync('..2', join(directory.path, '..data_tmp'));
  renameSync(join(directory.path, '..data_tmp'), join(directory.path, '..data'));
  await until('the second service', () => came(second) > 0);
  replace('config.yaml', configText(4));
  await until('the fourth service', () => came(fourth) > 0);
  expect(running.child.exitCode).toBeNull();
});

test('a file with a mistake changes nothing, and is reported until it is fixed', async () => {
  directory.write('config.yaml', configText(1));
  const running = run('config.yaml');
  await until('a scrape', () => receiver.totals.requests > 0);
  replace('config.yaml', configText(2, { metrics: { intervall: '1s' } }));
  const told = await until('the mistake on the page', async () => {
    const seen = await status(running);
    return seen?.reload?.mistakes.length === 1 && seen;
  });
  expect(told.reload?.mistakes[0]).toMatch(/config\.yaml:1:\d+: .*intervall.*interval/);
  expect(told.problems[0]).toMatchObject({ severity: 'error' });
  expect(told.problems[0]?.message).toContain('the previous one stays in use');
  const before = receiver.totals.requests;
  await until('it goes on', () => receiver.totals.requests > before);
  replace('config.yaml', configText(1, { status: { listen: '127.0.0.1:1' } }));
  await until('what takes a restart', () =>
    running.stderr().includes('cannot change status while running'),
  );
  replace('config.yaml', configText(2));
  await until('the mended one', async () => (await status(running))?.services.length === 2);
  expect((await status(running))?.problems.filter(({ severity }) => severity === 'error')).toEqual(
    [],
  );
});

test('a rotated key is used once its file changes, and appears nowhere', async () => {
  directory.write('config.yaml', configText(1));
  const running = run('config.yaml');
  await until('a scrape', () => receiver.totals.requests > 0);
  replace('key', ROTATED);
  simulator.key = ROTATED;
  const before = receiver.totals.requests;
  await until('scrapes with the new key', () => receiver.totals.requests > before + 2);
  await until('the service is up', async () => (await status(running))?.services[0]?.isUp === true);
  const shown = JSON.stringify(await status(running));
  running.child.kill('SIGTERM');
  const { stdout, stderr } = await running.finished;
  for (const secret of [CANARY, ROTATED]) expect(stdout + stderr + shown).not.toContain(secret);
  expectUndisturbed();
});
