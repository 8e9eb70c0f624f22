// A reload leaves nothing of the former daemon: the garbage collector, which the test runs, collects the daemon.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { Bell } from '../../src/lib/bell.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { renderCounters } from '../../src/lib/counters.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { RELOAD_COUNTERS, Supervisor } from '../../src/daemon/reload.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDirectory, until } from '../support/program.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Port 1 of this machine refuses connections at once. */
const API = { base_url: 'http://127.0.0.1:1', key: 'test-key' };

const configText = (name: string, header: string = name, key: string = API.key): string =>
  JSON.stringify({
    api: { ...API, key },
    services: [{ id: 'dbpgf1', name }],
    logs: { enabled: true },
    backups: { enabled: true },
    otlp: { endpoint: 'http://127.0.0.1:1', headers: { header } },
    queue: { directory: null },
    log: { level: 'error' },
  });

/** Opens a supervisor with this configuration, which `reload` replaces by another text. */
async function supervise(text: string, clock: Clock = systemClock) {
  const directory = tempDirectory();
  const file = directory.write('config.json', text);
  const supervisor = await Supervisor.open({ file, environment: {}, clock });
  const [stop, hangUp] = [new AbortController(), new Bell()];
  let running: Promise<void> | undefined;
  return {
    supervisor,
    directory,
    hangUp,
    run: (): void => void (running = supervisor.run(stop.signal, hangUp)),
    reload: async (next: string): Promise<void> => {
      directory.write('config.json', next);
      await supervisor.reload();
      expect(supervisor.lastReload?.mistakes).toEqual([]);
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      stop.abort();
      await running;
      await supervisor.daemon.stop(AbortSignal.abort());
      directory[Symbol.dispose]();
    },
  };
}

test('a replaced daemon can be garbage-collected, over many reloads', async () => {
  await using world = await supervise(configText('0'));
  const { supervisor } = world;
  world.run();
  const former: WeakRef<object>[] = [];
  for (let turn = 1; turn <= 3; turn++) {
    former.push(new WeakRef(supervisor.daemon));
    await world.reload(configText(String(turn)));
  }
  const isKept = (one: WeakRef<object>): boolean => one.deref() !== undefined;
  for (let turn = 0; turn < 50 && former.some(isKept); turn++) {
    await nextTurn();
    collectGarbage();
  }
  expect(former.filter(isKept)).toHaveLength(0);
});

test('senders are kept until `otlp` changes; they keep secret what the running configuration has', async () => {
  await using world = await supervise(configText('a', 'same'));
  const { supervisor } = world;
  const { senders } = supervisor.daemon;
  await world.reload(configText('b', 'same'));
  expect(supervisor.daemon.senders, 'only a name has changed').toBe(senders);
  await world.reload(configText('b', 'same', 'another-key'));
  expect(supervisor.daemon.senders, 'a key of the service has changed').toBe(senders);
  expect(supervisor.daemon.knownApis.redact('test-key another-key')).toBe('[secret] [secret]');
  await world.reload(configText('b', 'another'));
  for (const [index, { sender }] of supervisor.daemon.senders.entries())
    expect(sender).not.toBe(senders[index]?.sender);
});

test('a target keeps its log for as long as its pages mean the same', async () => {
  const text = (more: object): string =>
    JSON.stringify({ ...JSON.parse(configText('a')), ...more });
  await using world = await supervise(text({}));
  const { supervisor } = world;
  const isKept = async (more: object): Promise<boolean> => {
    const [former] = supervisor.daemon.targets;
    await world.reload(text(more));
    return supervisor.daemon.targets[0] === former;
  };
  expect(await isKept({ logs: { enabled: false } })).toBe(true);
  expect(await isKept({ metrics: { stale_after: '20m' } })).toBe(false);
  expect(await isKept({ metrics: { stale_after: '20m' }, unconfigured_services: 'send' })).toBe(
    false,
  );
});

test('a signal during the start is a reload, too', async () => {
  await using world = await supervise(configText('early'));
  const { supervisor } = world;
  world.hangUp.ring();
  const before = supervisor.daemon;
  world.run();
  await until('a reload', () => supervisor.lastReload !== null);
  expect(supervisor.daemon).not.toBe(before);
});

test('after a configuration that loads but cannot be used, the files of the running one are still watched', async () => {
  const clock = new FakeClock();
  const keys = tempDirectory();
  onTestFinished(() => keys[Symbol.dispose]());
  const key = `\${file:${keys.write('key', 'former')}}`;
  await using world = await supervise(configText('a', 'a', key), clock);
  const { supervisor } = world;
  world.run();
  const [target] = supervisor.daemon.targets;
  // A remote proxy for plain http would show the key; only opening finds that out.
  const proxy = 'http://proxy.example:3128';
  const unusable = { ...JSON.parse(configText('a')), api: { ...API, proxy } };
  world.directory.write('config.json', JSON.stringify(unusable));
  await supervisor.reload();
  expect(supervisor.lastReload?.mistakes).toEqual([expect.stringContaining('proxy')]);
  expect(supervisor.daemon.targets[0]).toBe(target);
  const { refused } = supervisor.daemon.counters.of(RELOAD_COUNTERS);
  expect(refused.get()).toBe(1);
  const firstAtMs = supervisor.lastReload?.atMs ?? expect.fail('no reload');
  keys.write('key', 'rotated');
  await clock.advance(10_000);
  expect(supervisor.lastReload?.atMs).toBeGreaterThan(firstAtMs);
  world.directory.write('config.json', configText('a', 'a', key));
  await supervisor.reload();
  expect(refused.get()).toBe(0);
});

test('the gauges of a service end when it is removed, those of logs when they are switched off', async () => {
  const simulator = await startSimulator({ clock: systemClock, key: 'test-key', refreshMs: 250 });
  const [kept = '', removed = ''] = simulator.world.services.map(({ id }) => id);
  const text = (ids: readonly string[], more: object = {}): string =>
    JSON.stringify({
      ...JSON.parse(configText('a')),
      api: { base_url: simulator.url, key: 'test-key' },
      services: ids.map(id => ({ id })),
      metrics: { interval: '1s' },
      ...more,
    });
  await using world = await supervise(text([kept, removed]));
  const { supervisor } = world;
  world.run();
  const gaugesOf = (id: string): readonly string[] => {
    const lines = renderCounters(supervisor.daemon.counters).split('\n');
    const own = lines.filter(
      line => line.includes(`{service="${id}"`) && !line.includes('_total{'),
    );
    return [...new Set(own.map(line => line.slice(0, line.indexOf('{'))))].sort();
  };
  const lag = 'prom2otlp_logs_lag_seconds';
  const metrics = ['prom2otlp_service_clock_skew_seconds', 'prom2otlp_service_up'];
  const all = [lag, ...metrics].join();
  await until('all gauges', () => [kept, removed].every(id => gaugesOf(id).join() === all));
  await world.reload(text([kept]));
  expect(gaugesOf(removed)).toEqual([]);
  expect(gaugesOf(kept), 'before its next page').toEqual(expect.arrayContaining(metrics));
  await until('those of the other service', () => gaugesOf(kept).join() === all);
  await world.reload(text([kept], { logs: { enabled: false } }));
  expect(gaugesOf(kept)).not.toContain(lag);
  await simulator.close();
});
