// What a reload leaves behind: nothing. Whether the former daemon can be collected is asked of the collector itself.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Bell } from '../../src/lib/bell.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { renderCounters } from '../../src/lib/counters.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { Supervisor } from '../../src/daemon/reload.ts';
import { tempDirectory, until } from '../support/program.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Port 1 of this machine refuses at once. */
const configText = (name: string, header: string = name, key: string = 'test-key'): string =>
  JSON.stringify({
    api: { base_url: 'http://127.0.0.1:1', key },
    services: [{ id: 'dbpgf1', name }],
    logs: { enabled: true },
    backups: { enabled: true },
    otlp: { endpoint: 'http://127.0.0.1:1', headers: { header } },
    queue: { directory: null },
    log: { level: 'error' },
  });

test('a replaced daemon can be garbage-collected, over many reloads', async () => {
  using directory = tempDirectory();
  const file = directory.write('config.json', configText('0'));
  const supervisor = await Supervisor.open({ file, environment: {}, clock });
  const stop = new AbortController();
  const running = supervisor.run(stop.signal, new Bell());
  const former: WeakRef<object>[] = [];
  for (let turn = 1; turn <= 3; turn++) {
    former.push(new WeakRef(supervisor.daemon));
    directory.write('config.json', configText(String(turn)));
    await supervisor.reload();
    expect(supervisor.lastReload?.mistakes).toEqual([]);
  }
  const isKept = (one: WeakRef<object>): boolean => one.deref() !== undefined;
  for (let turn = 0; turn < 50 && former.some(isKept); turn++) {
    await nextTurn();
    collectGarbage();
  }
  expect(former.filter(isKept)).toHaveLength(0);
  stop.abort();
  await running;
  await supervisor.daemon.stop(AbortSignal.abort());
});

test('senders are kept until `otlp` changes; they keep secret what the running configuration has', async () => {
  using directory = tempDirectory();
  const file = directory.write('config.json', configText('a', 'same'));
  const supervisor = await Supervisor.open({ file, environment: {}, clock });
  const { senders } = supervisor.daemon;
  directory.write('config.json', configText('b', 'same'));
  await supervisor.reload();
  expect(supervisor.daemon.senders, 'only a name has changed').toBe(senders);
  directory.write('config.json', configText('b', 'same', 'another-key'));
  await supervisor.reload();
  expect(supervisor.daemon.senders, 'a key of the service has changed').toBe(senders);
  expect(supervisor.daemon.knownApis.redact('test-key another-key')).toBe('[secret] [secret]');
  directory.write('config.json', configText('b', 'another'));
  await supervisor.reload();
  for (const [index, { sender }] of supervisor.daemon.senders.entries())
    expect(sender).not.toBe(senders[index]?.sender);
  await supervisor.daemon.stop(AbortSignal.abort());
});

test('a target keeps its log for as long as its pages mean the same', async () => {
  using directory = tempDirectory();
  const text = (more: object): string =>
    JSON.stringify({ ...JSON.parse(configText('a')), ...more });
  const file = directory.write('config.json', text({}));
  const supervisor = await Supervisor.open({ file, environment: {}, clock });
  const isKept = async (more: object): Promise<boolean> => {
    const [former] = supervisor.daemon.targets;
    directory.write('config.json', text(more));
    await supervisor.reload();
    expect(supervisor.lastReload?.mistakes).toEqual([]);
    return supervisor.daemon.targets[0] === former;
  };
  expect(await isKept({ logs: { enabled: false } })).toBe(true);
  expect(await isKept({ metrics: { stale_after: '20m' } })).toBe(false);
  expect(await isKept({ metrics: { stale_after: '20m' }, unconfigured_services: 'send' })).toBe(
    false,
  );
  await supervisor.daemon.stop(AbortSignal.abort());
});

test('a signal during the start is a reload, too', async () => {
  using directory = tempDirectory();
  const file = directory.write('config.json', configText('early'));
  const supervisor = await Supervisor.open({ file, environment: {}, clock });
  const [stop, hangUp] = [new AbortController(), new Bell()];
  hangUp.ring();
  const before = supervisor.daemon;
  const running = supervisor.run(stop.signal, hangUp);
  await until('a reload', () => supervisor.lastReload !== null);
  expect(supervisor.daemon).not.toBe(before);
  stop.abort();
  await running;
  await supervisor.daemon.stop(AbortSignal.abort());
});

test('the gauges of a service end when it is removed, those of logs when they are switched off', async () => {
  using directory = tempDirectory();
  const simulator = await startSimulator({ clock, key: 'test-key', refreshMs: 250 });
  const [kept = '', removed = ''] = simulator.world.services.map(({ id }) => id);
  const text = (ids: readonly string[], more: object = {}): string =>
    JSON.stringify({
      ...JSON.parse(configText('a')),
      api: { base_url: simulator.url, key: 'test-key' },
      services: ids.map(id => ({ id })),
      metrics: { interval: '1s' },
      ...more,
    });
  const file = directory.write('config.json', text([kept, removed]));
  const supervisor = await Supervisor.open({ file, environment: {}, clock });
  const stop = new AbortController();
  const running = supervisor.run(stop.signal, new Bell());
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
  directory.write('config.json', text([kept]));
  await supervisor.reload();
  expect(gaugesOf(removed)).toEqual([]);
  expect(gaugesOf(kept), 'before its next page').toEqual(expect.arrayContaining(metrics));
  await until('those of the other service', () => gaugesOf(kept).join() === all);
  directory.write('config.json', text([kept], { logs: { enabled: false } }));
  await supervisor.reload();
  expect(gaugesOf(kept)).not.toContain(lag);
  stop.abort();
  await running;
  await supervisor.daemon.stop(AbortSignal.abort());
  await simulator.close();
});
