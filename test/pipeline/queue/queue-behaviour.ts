// The behaviour of every queue, whatever its store: one suite, run by the test of each store.

import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { Counters } from '../../../src/lib/counters.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import type { Batch, Signal } from '../../../src/model/batch.ts';
import type {
  Commit,
  CommitOutcome,
  QueueOptions,
  QueueRow,
  SetAside,
} from '../../../src/pipeline/queue/commit.ts';
import type { Queue } from '../../../src/pipeline/queue/queue.ts';
import { QUEUE_COUNTERS } from '../../../src/pipeline/queue/account.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { allAccepted, logsBatch, metricsBatch, metricsBytes } from '../../support/otlp-requests.ts';

export const HOUR_MS = 3_600_000;
export const NONE: ReadonlySet<number> = new Set();

/** The limits of a queue, by default in memory, from the most bytes of each signal. */
export function limitsOf(
  { metrics = 100_000, logs = 100_000 }: Partial<Record<Signal, number>>,
  directory: string | null = null,
): QueueOptions['config'] {
  return {
    directory,
    metrics: { maxBytes: metrics, maxAgeMs: HOUR_MS },
    logs: { maxBytes: logs },
  };
}

/** Options with a manual clock and room for a few uncompressed rows; each test overrides the ones it needs. */
export function queueOptions(changes: Partial<QueueOptions> = {}): QueueOptions & {
  readonly clock: FakeClock;
} {
  return {
    config: limitsOf({}),
    limits: {
      metrics: { bytes: 10_000, points: Infinity },
      logs: { bytes: 10_000, points: Infinity },
    },
    compression: { metrics: 'none', logs: 'none' },
    counters: new Counters(),
    logger: silentLogger,
    ...changes,
    clock: (changes.clock as FakeClock | undefined) ?? new FakeClock(),
  };
}

export function commitOf(...batches: Batch[]): Commit {
  return { batches, state: [], reads: [] };
}

/** A limit that allows exactly `count` rows of `metricsBatch({ a: 10 })`. */
export function shareFor(count: number): number {
  const oneRowBytes = metricsBatch({ a: 10 }, 0).payload.length + 145;
  return count * oneRowBytes + oneRowBytes / 2;
}

/** Pins and settles a row with all points accepted. */
export async function acceptRow(queue: Queue, row: QueueRow): Promise<void> {
  expect(queue.pin(row.id)).toBe(true);
  await queue.settle(row.id, allAccepted(row.parts), []);
}

/** The oldest row. Fails if there is none. */
export function firstRow(queue: Queue, signal: Signal = 'metrics'): Promise<QueueRow> {
  return rowAt(queue, 0, signal);
}

/** The row with `index` older rows. Fails if there is none. */
export async function rowAt(
  queue: Queue,
  index: number,
  signal: Signal = 'metrics',
): Promise<QueueRow> {
  return (await queue.oldest(signal, index + 1, NONE)).at(index) ?? expect.fail('no row');
}

/** Commits metrics: services with their number of points; by default at the start time of fake clocks. */
export async function put(
  queue: Queue,
  points: Readonly<Record<string, number>>,
  atMs: number = new FakeClock().nowMs(),
): Promise<CommitOutcome> {
  return await queue.commit(commitOf(metricsBatch(points, atMs)));
}

export async function services(queue: Queue, signal: Signal): Promise<readonly string[]> {
  const rows = await queue.oldest(signal, 1000, NONE);
  return rows.flatMap(row => row.parts.map(part => part.service));
}

/** Invariant 9 for every service of a queue. */
export function expectBalance(queue: Queue): void {
  const queued = [...queue.account.entries().keys()].reduce(
    (sum, id) => sum + queue.account.queued(id),
    0,
  );
  expect(queued).toBe(queue.stats('metrics').points + queue.stats('logs').points);
}

/** Expects this many points of a service (null: of all services) for each outcome, and an account that balances. */
export function expectPoints(
  queue: Queue,
  service: string | null,
  want: Readonly<Record<string, number>>,
): void {
  const countOf = (key: string): number =>
    service === null ? (queue.account.total().get(key) ?? 0) : queue.account.get(service, key);
  const found = Object.keys(want).map(end => [end, countOf(`point/${end}`)] as const);
  expect(Object.fromEntries(found)).toEqual(want);
  expectBalance(queue);
}

/** A commit that changes only state. */
function stateOf(kind: string, key: string, text: string | null): Commit {
  const blob = text === null ? null : Buffer.from(text);
  return { batches: [], state: [{ kind, key, blob }], reads: [] };
}

export const ASIDE: SetAside = {
  signal: 'metrics',
  service: 'a',
  points: 1,
  reason: 'no',
  sample: Buffer.from('x'),
  atMs: Date.UTC(2026, 2, 4, 9),
};

/** Declares the suite for a store; `open` is called once per test. */
export function describeQueue(name: string, open: (options: QueueOptions) => Promise<Queue>): void {
  describe(name, () => {
    let queue: Queue;
    afterEach(async () => {
      expectBalance(queue);
      await queue.close();
    });

    test('rows of a signal keep their order', async () => {
      const options = queueOptions();
      queue = await open(options);
      const now = options.clock.nowMs();
      await queue.commit(commitOf(metricsBatch({ a: 1 }, now), logsBatch('x', ['l'], now)));
      await put(queue, { b: 2, c: 3 });
      expect(await services(queue, 'metrics')).toEqual(['a', 'b', 'c']);
      expect(await services(queue, 'logs')).toEqual(['x']);
      const [first, second] = await queue.oldest('metrics', 2, NONE);
      expect(first?.body).toEqual(metricsBytes('a', 1));
      expect(await queue.oldest('metrics', 1, NONE)).toEqual([first]);
      expect(await queue.oldest('metrics', 1, new Set([first?.id ?? 0]))).toEqual([second]);
      expect(await queue.oldest('metrics', 0, NONE)).toEqual([]);
    });

    test('commits keep their order although compression is asynchronous', async () => {
      queue = await open(queueOptions({ compression: { metrics: 'gzip', logs: 'zstd' } }));
      const names = Array.from({ length: 20 }, (_, i) => `s${i}`);
      await Promise.all(names.map((id, i) => put(queue, { [id]: i % 2 ? 1 : 60 }, i + 1e13)));
      expect(await services(queue, 'metrics')).toEqual(names);
    });

    test('a settled row is gone and its points are in the account', async () => {
      queue = await open(queueOptions());
      await put(queue, { a: 5, b: 5 });
      const row = await firstRow(queue);
      expect(queue.pin(row.id)).toBe(true);
      const aside = { ...ASIDE, service: 'b', points: 2 };
      const ends = [
        { service: 'a', accepted: 4, rejected: 1, setAside: 0 },
        { service: 'b', accepted: 3, rejected: 0, setAside: 2 },
      ];
      await queue.settle(row.id, ends, [aside]);
      expect(await queue.oldest('metrics', 1, NONE)).toEqual([]);
      expect(queue.pin(row.id)).toBe(false);
      expect(queue.stats('metrics')).toMatchObject({ rows: 0, bytes: 0, points: 0 });
      const want = { made: 10, accepted: 7, rejected: 1, set_aside: 2, evicted: 0 };
      expectPoints(queue, null, want);
      expect(await queue.readSetAside(10)).toEqual([aside]);
    });

    test('the newest rows come newest first, without the rows that are skipped', async () => {
      queue = await open(queueOptions());
      for (const id of ['a', 'b', 'c']) await put(queue, { [id]: 1 });
      const { id } = await firstRow(queue);
      const found = async (count: number, skip = NONE): Promise<readonly string[]> =>
        (await queue.newest('metrics', count, skip)).map(({ parts }) => parts[0]?.service ?? '');
      expect(await found(2)).toEqual(['c', 'b']);
      expect(await found(9, new Set([id]))).toEqual(['c', 'b']);
      expect(await queue.newest('logs', 1, NONE)).toEqual([]);
    });

    test('set-aside entries are bounded and listed newest first', async () => {
      queue = await open(queueOptions());
      const entry = (points: number): SetAside => ({ ...ASIDE, points });
      const store = async (asides: readonly SetAside[]): Promise<void> => {
        await put(queue, { a: 1 });
        const { id } = await firstRow(queue);
        expect(queue.pin(id)).toBe(true);
        await queue.settle(id, [{ service: 'a', accepted: 0, rejected: 0, setAside: 1 }], asides);
      };
      const listed = async (most: number): Promise<readonly number[]> =>
        (await queue.readSetAside(most)).map(({ points }) => points);
      await store(Array.from({ length: 900 }, (_, i) => entry(i)));
      await store(Array.from({ length: 900 }, (_, i) => entry(900 + i)));
      expect(await listed(2)).toEqual([1799, 1798]);
      expect(await listed(5000)).toEqual(Array.from({ length: 1000 }, (_, i) => 1799 - i));
      await store([{ ...entry(1), sample: Buffer.alloc(16 * 1024 * 1024) }]);
      expect(await listed(5000)).toHaveLength(1);
    });

    test('state is kept by kind and key, replaced, and deleted by null', async () => {
      queue = await open(queueOptions());
      const check = async (kind: string, want: string | null): Promise<void> =>
        expect((await queue.readState(kind, 'a'))?.toString() ?? null).toBe(want);
      await check('cursor', null);
      await queue.commit(stateOf('cursor', 'a', 'one'));
      await queue.commit(stateOf('start', 'a', 'other'));
      await queue.commit(stateOf('cursor', 'a', 'two'));
      await check('cursor', 'two');
      await check('start', 'other');
      await queue.commit(stateOf('cursor', 'a', null));
      await check('cursor', null);
      await check('start', 'other');
      expect(['cursor', 'start'].map(kind => queue.stateKeys(kind))).toEqual([[], ['a']]);
    });

    test('state that does not fit is lost: counted, told and shown, and not an error', async () => {
      const options = queueOptions();
      queue = await open(options);
      const of = {
        kind: 'cursor',
        lost: 'the cursors are lost: they begin anew',
        read: (blob: Buffer) => (String(blob) === 'good' ? 1 : null),
      };
      expect(await queue.restoreState(of, 'a')).toBeNull();
      await queue.commit(stateOf('cursor', 'a', 'good'));
      expect(await queue.restoreState(of, 'a')).toBe(1);
      expect(queue.notes()).toEqual([]);
      await queue.commit(stateOf('cursor', 'a', 'bad'));
      for (const count of [1, 2]) {
        expect(await queue.restoreState(of, 'a')).toBeNull();
        expect(options.counters.of(QUEUE_COUNTERS).lostStates.get('cursor')).toBe(count);
        expect(queue.notes()).toEqual([of.lost]);
      }
    });

    test('a state blob is copied: the caller may reuse its buffer', async () => {
      queue = await open(queueOptions());
      const blob = Buffer.from('one');
      await queue.commit({ batches: [], state: [{ kind: 'k', key: 'a', blob }], reads: [] });
      blob.fill(0);
      expect((await queue.readState('k', 'a'))?.toString()).toBe('one');
    });

    test('new metrics evict the oldest if there is no room, counted per service', async () => {
      const options = queueOptions({ config: limitsOf({ metrics: shareFor(3) }) });
      queue = await open(options);
      for (const id of ['a', 'b', 'c', 'd', 'e'])
        expect(await put(queue, { [id]: 10 })).toEqual({ kind: 'stored' });
      expect(await services(queue, 'metrics')).toEqual(['c', 'd', 'e']);
      expectPoints(queue, 'a', { evicted: 10 });
      expectPoints(queue, 'c', { evicted: 0 });
      const evicted = options.counters.list().find(({ name }) => name.includes('evicted'));
      expect(evicted?.get('metrics', 'b', 'size')).toBe(10);
      expect(queue.stats('metrics').bytes).toBeLessThanOrEqual(queue.stats('metrics').maxBytes);
    });

    test('a batch larger than the limit is evicted itself, and evicts nothing else', async () => {
      queue = await open(queueOptions({ config: limitsOf({ metrics: shareFor(1) }) }));
      await put(queue, { a: 10 });
      await put(queue, { big: 100 });
      expectPoints(queue, 'big', { evicted: 100 });
      expect(await services(queue, 'metrics')).toEqual(['a']);
    });

    test('metrics older than the maximum age are evicted, logs are not', async () => {
      const options = queueOptions();
      queue = await open(options);
      const store = async (id: string): Promise<unknown> => {
        const now = options.clock.nowMs();
        return await queue.commit(
          commitOf(metricsBatch({ [id]: 1 }, now), logsBatch(id, ['line'], now)),
        );
      };
      await store('a');
      await options.clock.advance(HOUR_MS / 2);
      await store('b');
      await options.clock.advance(HOUR_MS / 2 + 1);
      expect(await services(queue, 'metrics')).toEqual(['b']);
      expect(await services(queue, 'logs')).toEqual(['a', 'b']);
      expectPoints(queue, 'a', { evicted: 1 });
      await options.clock.advance(HOUR_MS);
      await store('c');
      expectPoints(queue, 'b', { evicted: 1 });
      expect(await services(queue, 'metrics')).toEqual(['c']);
    });

    test('a commit whose logs have no room is refused as a whole', async () => {
      const options = queueOptions({ config: limitsOf({ logs: 1000 }) });
      queue = await open(options);
      const now = options.clock.nowMs();
      const line = 'x'.repeat(500);
      const commit = (text: string): Commit => ({
        batches: [logsBatch('a', [line], now), metricsBatch({ a: 1 }, now)],
        state: [{ kind: 'cursor', key: 'a', blob: Buffer.from(text) }],
        reads: [
          { service: 'a', outcome: 'used', count: 7 },
          { service: 'a', outcome: 'repeated', count: 2 },
          { service: 'b', outcome: 'used', count: 1 },
        ],
      });
      expect(await queue.commit(commit('one'))).toEqual({ kind: 'stored' });
      const before = Object.fromEntries(queue.account.total());
      expect(await queue.commit(commit('two'))).toEqual({ kind: 'full' });
      expect(Object.fromEntries(queue.account.total())).toEqual(before);
      expect((await queue.readState('cursor', 'a'))?.toString()).toBe('one');
      expect(await services(queue, 'metrics')).toEqual(['a']);
      // Once the back end has accepted the first row, there is room again.
      const row = await firstRow(queue, 'logs');
      await acceptRow(queue, row);
      expect(await queue.commit(commit('two'))).toEqual({ kind: 'stored' });
      expect(queue.account.get('a', 'sample/used')).toBe(14);
      expect(queue.account.get('a', 'sample/repeated')).toBe(4);
      expect(queue.account.get('b', 'sample/used')).toBe(2);
    });

    test('full logs do not block metrics, and full metrics do not block logs', async () => {
      const options = queueOptions({ config: limitsOf({ metrics: shareFor(1), logs: 1000 }) });
      queue = await open(options);
      const now = options.clock.nowMs();
      const logs = commitOf(logsBatch('a', ['x'.repeat(500)], now));
      expect(await queue.commit(logs)).toMatchObject({ kind: 'stored' });
      expect(await queue.commit(logs)).toEqual({ kind: 'full' });
      for (let i = 0; i < 3; i++) expect(await put(queue, { a: 10 })).toEqual({ kind: 'stored' });
      expect(await services(queue, 'logs')).toEqual(['a']);
    });

    test('logs larger than the limit fail, and the message names the key to raise', async () => {
      queue = await open(queueOptions({ config: limitsOf({ logs: 100 }) }));
      const outcome = await queue.commit(commitOf(logsBatch('a', ['x'.repeat(500)], 1e13)));
      expect(outcome).toMatchObject({ kind: 'failed' });
      expect(JSON.stringify(outcome)).toContain('queue.logs.max_bytes');
    });

    test('stats of a signal: rows, bytes, points, oldest and newest', async () => {
      const options = queueOptions();
      queue = await open(options);
      expect(queue.stats('metrics')).toEqual({
        rows: 0,
        bytes: 0,
        points: 0,
        maxBytes: 100_000,
        oldestAtMs: null,
        newestAtMs: null,
      });
      const now = options.clock.nowMs();
      await put(queue, { a: 2, b: 3 }, now - 5);
      await put(queue, { a: 2 }, now);
      expect(queue.stats('metrics')).toMatchObject({
        rows: 2,
        points: 7,
        oldestAtMs: now - 5,
        newestAtMs: now,
      });
      expect(queue.stats('logs').rows).toBe(0);
      const gauges = options.counters.of(QUEUE_COUNTERS);
      expect(gauges.rows.get('metrics')).toBe(2);
      expect(gauges.points.get('metrics')).toBe(7);
      expect(gauges.bytes.get('metrics')).toBe(queue.stats('metrics').bytes);
      expect(gauges.maxBytes.get('metrics')).toBe(100_000);
      expect(gauges.trouble.get()).toBe(0);
      await options.clock.advance(10_000);
      expect(gauges.oldestAge.get('metrics')).toBe(10.005);
      expect(gauges.oldestAge.get('logs')).toBe(0);
    });

    test('listeners are called after each stored commit and no other', async () => {
      const options = queueOptions({ config: limitsOf({ logs: 100 }) });
      queue = await open(options);
      let heard = 0;
      queue.onChange(() => heard++);
      await put(queue, { a: 1 });
      expect(heard).toBe(1);
      await queue.commit(commitOf(logsBatch('a', ['x'.repeat(500)], options.clock.nowMs())));
      expect(heard).toBe(1);
    });

    test('settling an unknown row changes nothing', async () => {
      queue = await open(queueOptions());
      await queue.settle(99, [{ service: 'a', accepted: 1, rejected: 0, setAside: 0 }], []);
      expect(queue.account.entries().size).toBe(0);
    });

    test('a closed queue stores nothing, returns nothing and does not throw', async () => {
      queue = await open(queueOptions());
      const early = put(queue, { a: 1 });
      await setTimeout(0);
      const reading = queue.oldest('metrics', 1, NONE);
      await queue.close();
      expect(await early).toEqual({ kind: 'stored' });
      await reading;
      expect(await queue.commit(commitOf())).toMatchObject({ kind: 'failed' });
      expect(await queue.oldest('metrics', 1, NONE)).toEqual([]);
      expect(queue.pin(1)).toBe(false);
      await queue.settle(1, [], []);
      await queue.close();
    });
  });
}
