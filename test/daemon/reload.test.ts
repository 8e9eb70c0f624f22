// A reload is a restart inside the process: the former parts end, and leave nothing; the queue, the senders and the status
// server stay.

import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { Bell } from '../../src/lib/bell.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { renderCounters } from '../../src/lib/counters.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { RELOAD_COUNTERS, Supervisor } from '../../src/daemon/reload.ts';
import type { Batch } from '../../src/model/batch.ts';
import { serveStatus } from '../../src/status/status-server.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { startHttpServer } from '../support/http-server.ts';
import { LogBook } from '../support/log-book.ts';
import { ERRORS, HastyClock, MINUTE, NOW, OTHER, SERVICES } from '../support/log-site.ts';
import { Receiver } from '../support/receiver.ts';
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

test('replaced parts can be garbage-collected, over many reloads', async () => {
  await using world = await supervise(configText('0'));
  const { supervisor } = world;
  world.run();
  const former: WeakRef<object>[] = [];
  const remember = (): void => {
    const { targets, logs, backups } = supervisor.daemon;
    for (const part of [targets, logs, backups])
      former.push(new WeakRef(part ?? expect.fail('a part is missing')));
  };
  for (let turn = 1; turn <= 3; turn++) {
    remember();
    await world.reload(configText(String(turn)));
  }
  expect(former).toHaveLength(9);
  const isKept = (one: WeakRef<object>): boolean => one.deref() !== undefined;
  for (let turn = 0; turn < 50 && former.some(isKept); turn++) {
    await nextTurn();
    collectGarbage();
  }
  expect(former.map(isKept)).not.toContain(true);
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

test('a sender to the same endpoint goes on with the pause that the back end asked for', async () => {
  const clock = new FakeClock();
  let requests = 0;
  const backEnd = await startHttpServer((_request, response) => {
    requests++;
    response.writeHead(503, { 'retry-after': '3600' });
    response.end();
  });
  onTestFinished(() => backEnd[Symbol.asyncDispose]());
  const text = (timeout: string): string =>
    JSON.stringify({
      ...JSON.parse(configText('a')),
      otlp: { endpoint: backEnd.origin, timeout },
      logs: {},
      backups: {},
      telemetry: { enabled: false },
    });
  await using world = await supervise(text('5s'), clock);
  const { daemon } = world.supervisor;
  world.run();
  const status = () => daemon.senders[0]?.sender.status();
  await until('the pause', () => status()?.nextAttemptAtMs !== null);
  const [before, former] = [status(), daemon.senders[0]];
  await world.reload(text('6s'));
  expect(daemon.senders[0]).not.toBe(former);
  await until('the pause', () => status()?.nextAttemptAtMs !== null);
  expect(status()).toEqual(before);
  expect(requests).toBe(1);
});

test('a signal during the start is a reload, too', async () => {
  await using world = await supervise(configText('early'));
  const { supervisor } = world;
  world.hangUp.ring();
  world.run();
  await until('a reload', () => supervisor.lastReload !== null);
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
  const metrics = ['clock_skew_seconds', 'info', 'maintenance_state', 'up'].map(
    name => `prom2otlp_service_${name}`,
  );
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

/** A service whose next answers a test decides: it waits for `answer`. */
async function openService() {
  const waiting: ((status: number, page?: string) => void)[] = [];
  const keys: (string | undefined)[] = [];
  const server = await startHttpServer((request, response) => {
    keys.push(request.headers['x-api-key'] as string | undefined);
    waiting.push((status, page = '') => {
      response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4' });
      response.end(page);
    });
  });
  return {
    server,
    keys,
    answer: async (status: number, page?: string): Promise<void> => {
      await until('a request', () => waiting.length > 0);
      for (const answer of waiting.splice(0)) answer(status, page);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const PAGE = 'engine_up{namespace="dbpgf1"} 1\n';

test('a request to the status server is answered while a reload waits for a scrape, and one that spans it, too', async () => {
  const clock = new FakeClock();
  await using service = await openService();
  const text = (token: string): string =>
    JSON.stringify({
      api: { base_url: service.server.origin, key: 'k' },
      services: [{ id: 'dbpgf1' }],
      inventory: { enabled: false },
      otlp: { endpoint: 'http://127.0.0.1:1' },
      queue: { directory: null },
      status: { listen: '127.0.0.1:0', token },
      telemetry: { enabled: false },
      log: { level: 'error' },
    });
  await using world = await supervise(text('former'), clock);
  const status = await serveStatus(world.supervisor, clock);
  onTestFinished(() => status.close());
  const ask = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${status.url}/status.json`, { headers })).status;
  };
  world.run();
  await until('a scrape', () => service.keys.length > 0);
  const spanning = connect(status.port, '127.0.0.1');
  onTestFinished(() => void spanning.destroy());
  let answer = '';
  spanning.on('data', data => (answer += data.toString()));
  spanning.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n');
  const reloading = world.reload(text('latter'));
  // The reload waits for the scrape.
  expect(await ask('former')).toBe(200);
  expect(world.supervisor.lastReload).toBeNull();
  await service.answer(200, PAGE);
  await reloading;
  spanning.write('\r\n');
  await until('the answer', () => answer.startsWith('HTTP/1.1 200'));
  expect([await ask('latter'), await ask('former')]).toEqual([200, 401]);
  await service.answer(200, PAGE);
});

test('a refused key that a reload replaces works at once', async () => {
  const clock = new FakeClock();
  await using service = await openService();
  const text = (key: string): string =>
    configText('a', 'a', key).replace(API.base_url, service.server.origin);
  const metricsOnly = (key: string): string =>
    JSON.stringify({
      ...JSON.parse(text(key)),
      logs: {},
      backups: {},
      inventory: { enabled: false },
      telemetry: { enabled: false },
    });
  await using world = await supervise(metricsOnly('former'), clock);
  const { daemon } = world.supervisor;
  world.run();
  const reason = (): string | undefined => daemon.targets[0]?.status.lastReason;
  await service.answer(401);
  await until('the refusal', () => reason() === 'auth');
  await world.reload(metricsOnly('latter'));
  await service.answer(200, PAGE);
  await until('a page', () => daemon.targets[0]?.status.scrapeCount === 1);
  expect(reason()).toBe('');
  expect(service.keys).toEqual(['former', 'latter']);
  expect(clock.monotonicMs()).toBe(0);
});

test('rows are made, and the queue is limited, as the last configuration says', async () => {
  const text = (more: object): string =>
    JSON.stringify({ ...JSON.parse(configText('a')), queue: { directory: null, ...more } });
  await using world = await supervise(text({}));
  const { queue } = world.supervisor.daemon;
  const otlp = { endpoint: 'http://127.0.0.1:1', compression: 'none' };
  await world.reload(
    JSON.stringify({ ...JSON.parse(text({ metrics: { max_bytes: '5MB' } })), otlp }),
  );
  expect(queue.size('metrics').maxBytes).toBe(5_000_000);
  const part = { service: 'dbpgf1', points: 1, offset: 0, length: 3 };
  const batch = {
    signal: 'metrics',
    payload: Buffer.from('abc'),
    parts: [part],
    madeAtMs: Date.now(),
  };
  await queue.commit({ batches: [batch as Batch], state: [], reads: [] });
  const [row] = await queue.newest('metrics', 1, new Set());
  expect(row?.encoding).toBe('none');
});

test('a key that needs a restart is named, and everything else is used', async () => {
  await using world = await supervise(configText('a'));
  const { supervisor } = world;
  const changed = JSON.parse(configText('another')) as object;
  await world.reload(JSON.stringify({ ...changed, queue: { directory: '/nowhere' } }));
  expect(supervisor.lastReload?.restart).toEqual(['queue.directory']);
  expect(supervisor.daemon.config.services.map(({ name }) => name)).toEqual(['another']);
  expect(supervisor.daemon.config.queue.directory).toBeNull();
});

test('over 20 reloads no log line is lost, and none comes twice', async () => {
  const clock = new HastyClock(NOW);
  const book = new LogBook(SERVICES);
  const simulator = await startSimulator({
    clock,
    key: 'test-key',
    services: SERVICES,
    logs: book,
  });
  onTestFinished(() => simulator.close());
  await using receiver = await Receiver.start();
  const text = (turn: number): string =>
    JSON.stringify({
      api: { base_url: simulator.url, key: 'test-key' },
      services: [{ id: 'dbpgf1', name: String(turn) }, { id: 'dbpgf2' }],
      metrics: { enabled: false },
      logs: { enabled: true, schedule: '30s', first_start: '1d', redact_literals: false },
      otlp: { endpoint: receiver.url },
      queue: { directory: null },
      telemetry: { enabled: false },
      log: { level: 'error' },
    });
  await using world = await supervise(text(0), clock);
  const { daemon } = world.supervisor;
  world.run();
  const lines: string[] = [];
  const write = (): void => {
    const atMs = clock.nowMs() - MINUTE;
    for (const place of [ERRORS, OTHER]) {
      const text = `${new Date(atMs).toISOString()} 0 [Note] line ${lines.length}`;
      lines.push(text);
      book.write(place, { text, atMs });
    }
  };
  for (let turn = 1; turn <= 20; turn++) {
    const asked = simulator.requests.count;
    const writtenAtMs = clock.nowMs();
    write();
    // Every second reload comes after a pull; the others end one.
    await until('a request', () => simulator.requests.count > asked);
    if (turn % 2 === 0)
      await until('a pull', () =>
        daemon.pulls.every(({ status }) => (status.lastSuccessAtMs ?? 0) > writtenAtMs),
      );
    await world.reload(text(turn));
    clock.forward(5 * MINUTE);
  }
  const bodies = (): readonly string[] =>
    receiver.logRecords.map(({ body }) => body?.stringValue ?? '');
  await until('all lines', () => lines.every(line => bodies().some(body => line.endsWith(body))));
  expect(bodies()).toHaveLength(lines.length);
}, 60_000);
