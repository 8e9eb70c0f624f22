import { setImmediate as nextTurn } from 'node:timers/promises';
import { array, assert, asyncProperty, constantFrom, integer, tuple } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLineReader } from '../../src/logs/formats/reader.ts';
import type { Logs } from '../../src/logs/logs.ts';
import { KeyWorld, queryOf } from '../support/key-world.ts';
import { tempDirectory } from '../support/program.ts';
import {
  AUDIT,
  DAY,
  ERRORS,
  HOUR,
  LogSite,
  MINUTE,
  NOW,
  OTHER,
  recordsOf,
  type SiteOptions,
} from '../support/log-site.ts';

const LINES = '/observability/v2/logs/lines';
const RECORDS = { shape: 'records', first_start: '2h', endpoints: { list: LINES, page_size: 3 } };

function open(logs: object = {}, options: SiteOptions = {}): Promise<LogSite> {
  return LogSite.open({ ...options, logs: { ...RECORDS, ...logs } });
}

describe('records that are listed themselves', () => {
  test('arrive once, window after window, with their times', async () => {
    await using site = await open();
    for (let i = 0; i < 10; i++) {
      site.write(ERRORS, `line ${i}`, `second ${i}`);
      if (i % 3 === 0) site.write(OTHER, `other ${i}`);
      site.clock.forward(3 * MINUTE);
      await site.pull();
      if (i % 4 === 0) await site.restart();
    }
    site.clock.forward(3 * MINUTE);
    await site.pull();
    expect([...site.bodies].sort()).toEqual(site.written.toSorted());
    expect(site.delivered[0]?.timeMs).toBe(Math.floor(site.book.issued[0]?.atMs ?? 0));
    expect(site.delivered[0]).toMatchObject({
      service: 'dbpgf1',
      attributes: { server_name: 'orders-0', 'log.iostream': 'stderr' },
    });
  });

  test('that are identical are not merged', async () => {
    await using site = await open();
    const atMs = NOW - 30 * MINUTE;
    for (let i = 0; i < 5; i++) site.book.write(ERRORS, { text: 'same', atMs });
    await site.pulls(3);
    expect(site.bodies).toEqual(Array.from({ length: 5 }, () => 'same'));
    expect(new Set(site.delivered.map(({ uid }) => uid)).size).toBe(5);
    expect(site.downloads).toBe(0);
  });

  test('are not requested before they can be complete', async () => {
    await using site = await open();
    site.write(ERRORS, 'fresh');
    await site.pull();
    expect(site.bodies).toEqual([]);
    site.clock.forward(2 * MINUTE);
    await site.pull();
    expect(site.bodies).toEqual(['fresh']);
  });

  test('arrive, although the clock of the service is a day ahead for half an hour', async () => {
    await using site = await open();
    await site.pull();
    for (let i = 0; i < 12; i++) {
      site.simulator.setFaults({ clockSkewMs: i >= 3 && i < 9 ? DAY : 0 });
      site.write(ERRORS, `line ${i}`);
      site.clock.forward(5 * MINUTE);
      await site.pull();
    }
    expect(site.bodies).toEqual(site.written);
  });

  test('arrive within hours of a day by which the clock of the service was set ahead', async () => {
    await using site = await open();
    await site.pull();
    site.simulator.setFaults({ clockSkewMs: DAY });
    site.book.write(ERRORS, { text: 'tomorrow', atMs: NOW + DAY });
    for (let i = 0; i < 2; i++) {
      site.clock.forward(20 * MINUTE);
      await site.pull();
    }
    expect(site.bodies).toEqual([]);
    for (let i = 0; i < 3; i++) {
      site.clock.forward(HOUR);
      await site.pulls(2);
    }
    expect(site.bodies).toEqual(['tomorrow']);
  });

  test('that come late are found within the overlap', async () => {
    await using site = await open();
    await site.pull();
    site.clock.forward(20 * MINUTE);
    site.write(ERRORS, 'on time');
    await site.pull();
    site.writeOld(ERRORS, 10 * MINUTE, 'late');
    site.clock.forward(3 * MINUTE);
    await site.pulls(2);
    expect([...site.bodies].sort()).toEqual(['late', 'on time']);
  });

  test('of several lines are one record each', async () => {
    await using site = await open();
    const texts = ['head\n more\n and more', ' begins like the rest of one'];
    site.writeOld(ERRORS, 10 * MINUTE, ...texts);
    await site.pull();
    expect(site.bodies).toEqual(texts);
  });
});

describe('a window', () => {
  test('that is empty moves on', async () => {
    await using site = await open();
    await site.pull();
    await site.pull();
    const asked = [...site.simulator.requests.countByPath];
    expect(asked.map(([path]) => path)).toEqual([LINES]);
    expect(site.count('lag_seconds', 'dbpgf1', 'error-log')).toBeLessThan(125);
  });

  test('that cannot be finished is halved, and skipped at the minimum length', async () => {
    await using site = await open({ window: { max: '1h', min: '10m' } });
    for (let minute = 110; minute > 3; minute--)
      site.writeOld(ERRORS, minute * MINUTE, `minute ${minute}`);
    const poisonMs = NOW - 62 * MINUTE;
    site.simulator.setFaults({ poisonMs });
    await site.pulls(9);
    // The ends of the windows depend on the start of the first pull.
    const skipped = site.gaps.map(({ service, type, reason, ...span }) => {
      const [from, to] = [Date.parse(span.from ?? ''), Date.parse(span.to ?? '')];
      expect(from).toBeLessThanOrEqual(poisonMs);
      expect(to).toBeGreaterThanOrEqual(poisonMs);
      return `${service} ${type} ${reason} ${(to - from) / MINUTE} minutes`;
    });
    expect(skipped.sort()).toEqual(
      ['dbpgf1', 'dbpgf2'].flatMap(service =>
        ['audit-log', 'error-log', 'proxy-log', 'slow-query-log'].map(
          type => `${service} ${type} window 10 minutes`,
        ),
      ),
    );
    const minutes = new Set(site.bodies.map(body => Number(body.slice(7))));
    const missing = Array.from({ length: 106 }, (_, i) => i + 4).filter(one => !minutes.has(one));
    expect(missing.length).toBeLessThanOrEqual(10);
    expect(missing).toContain(62);
  });

  test('that the service fails to list is asked for until it answers: older data may be out for an hour', async () => {
    await using world = new KeyWorld();
    const window = { max: '1h', min: '10m' };
    const logs = world.logs({ ...RECORDS, types: ['error-log'], window });
    const kinds = async (count: number): Promise<readonly (string | undefined)[]> => {
      const seen: (string | undefined)[] = [];
      for (let i = 0; i < count; i++) {
        const [end] = await world.passes(logs.pull(world.stop.signal), 1000);
        seen.push(end?.kind);
        await world.clock.advance(5 * MINUTE);
      }
      return seen;
    };
    const outMs = world.clock.nowMs() - 62 * MINUTE;
    world.decide = what => {
      const { fromDate = '', toDate = '' } = queryOf(what);
      const isOut = Date.parse(fromDate) <= outMs && outMs < Date.parse(toDate);
      return isOut ? { ms: 1000, status: 500 } : { ms: 1, status: 200 };
    };
    expect(new Set(await kinds(8))).toEqual(new Set(['unreachable']));
    world.decide = () => ({ ms: 1, status: 200 });
    expect((await kinds(3)).at(-1)).toBe('done');
    expect(
      world.batches.map(({ payload }) => / may be missing/.exec(payload.toString('latin1'))),
    ).toEqual(world.batches.map(() => null));
  });

  test.each([400, 504])(
    'that the service answers with %i for its length is halved, and nothing is lost',
    async status => {
      await using world = new KeyWorld();
      const logs = world.logs({ ...RECORDS, first_start: '24h', types: ['error-log'] });
      let longestMs = 0;
      world.decide = what => {
        const { fromDate = '', toDate = '' } = queryOf(what);
        const lengthMs = Date.parse(toDate) - Date.parse(fromDate);
        if (lengthMs > 4 * HOUR) return { ms: 1, status };
        longestMs = Math.max(longestMs, lengthMs);
        return { ms: 1, status: 200 };
      };
      expect(await world.passes(logs.pull(world.stop.signal))).toMatchObject([{ kind: 'done' }]);
      expect(longestMs).toBeGreaterThan(HOUR);
    },
  );

  test('of a type that the service refuses is not below the retention', async () => {
    await using site = await open();
    site.simulator.setFaults({ listStatuses: { 'proxy-log': 400 } });
    site.write(ERRORS, 'one');
    site.clock.forward(3 * MINUTE);
    const failure = { message: expect.stringContaining('proxy-log') as string };
    expect(await site.pull()).toMatchObject({ kind: 'unreachable', failure });
    expect(site.bodies).toEqual(['one']);
    expect(site.gaps).toEqual([]);
  });

  test('below the retention is skipped with a gap', async () => {
    await using site = await open();
    site.write(ERRORS, 'before');
    site.clock.forward(5 * MINUTE);
    await site.pull();
    site.clock.forward(3 * DAY);
    site.write(ERRORS, 'after');
    site.clock.forward(5 * MINUTE);
    site.simulator.setFaults({ oldestMs: site.clock.nowMs() - DAY });
    await site.pulls(2);
    expect(site.bodies).toEqual(['before', 'after']);
    expect(new Set(site.gaps.map(({ reason }) => reason))).toEqual(new Set(['retention']));
  });
});

test('a type that can be listed again waits again at once, whatever failed before', async () => {
  await using site = await open({ types: ['error-log', 'audit-log'] }, { services: ['dbpgf1'] });
  const statesAfter = async (faults: object): Promise<readonly string[]> => {
    site.simulator.resetFaults();
    site.simulator.setFaults(faults);
    await site.pulls(1);
    return site.logs.meter.partitions.map(({ type, state }) => `${type} ${state}`);
  };
  await site.pulls(1);
  const bothFailed = ['error-log failed', 'audit-log failed'];
  expect(await statesAfter({ path: LINES, status: 404 })).toEqual(bothFailed);
  const oneFailed = ['error-log waiting', 'audit-log failed'];
  expect(await statesAfter({ listStatuses: { 'audit-log': 404 } })).toEqual(oneFailed);
  expect(await statesAfter({})).toEqual(['error-log waiting', 'audit-log waiting']);
});

describe('items of a list without a simulator', () => {
  const TYPE = 'error-log';

  /** Pulls once from a service that answers each request for a list with these items. */
  async function pullFrom(
    world: KeyWorld,
    logs: Logs,
    itemsOf: (query: { toDate: string; offset: number }) => readonly object[],
  ): Promise<void> {
    world.decide = what => {
      const { toDate = '', offset } = queryOf(what);
      const logs = offset === undefined ? [] : itemsOf({ toDate, offset: Number(offset) });
      return { ms: 5, status: 200, json: { logs } };
    };
    await world.passes(logs.pull(world.stop.signal), 50);
  }

  const open = (world: KeyWorld): Logs =>
    world.logs({ shape: 'records', types: [TYPE], endpoints: { page_size: 3 } });
  const bodiesOf = ({ batches }: KeyWorld): readonly string[] =>
    batches.flatMap(({ payload }) => recordsOf(payload)).map(({ body }) => body);

  test('an item that comes twice because the list has moved between two pages is sent once', async () => {
    await using world = new KeyWorld();
    const nowMs = world.clock.nowMs();
    const items = ['a', 'b', 'c', 'c', 'd', 'e'].map(id => ({
      id,
      logType: TYPE,
      serverDataSourceId: 'db1/a',
      server: 'a',
      log: `line ${id}`,
      time: new Date(nowMs - 20 * MINUTE).toISOString(),
    }));
    await pullFrom(world, open(world), ({ offset }) => items.slice(offset, offset + 3));
    expect([...bodiesOf(world)].sort()).toEqual(['a', 'b', 'c', 'd', 'e'].map(id => `line ${id}`));
  });

  test.each([
    ['a year ahead', 525_600],
    ['half an hour behind', -30],
    ['fifty years behind', -26_280_000],
    ['as the list says', 0],
  ])('lines whose own time is %s arrive once', async (_, offsetMinutes) => {
    await using world = new KeyWorld();
    const logs = open(world);
    let count = 0;
    for (let i = 0; i < 12; i++) {
      await pullFrom(world, logs, ({ toDate, offset }) => {
        const atMs = Date.parse(toDate) - MINUTE;
        const time = new Date(atMs + offsetMinutes * MINUTE).toISOString();
        const log = `${time.slice(0, 19).replace('T', ' ')} 0 [Note] hello ${count}`;
        const id = `i${count}`;
        if (offset > 0) return [];
        count++;
        return [{ id, logType: TYPE, serverDataSourceId: 'db1/a', server: 'a', log }];
      });
      await world.clock.advance(5 * MINUTE);
    }
    expect(count).toBeGreaterThan(10);
    // The first line may be older than the first start.
    expect(bodiesOf(world).length).toBeGreaterThanOrEqual(count - 1);
    expect(new Set(bodiesOf(world)).size).toBe(bodiesOf(world).length);
  });
});

test('a record whose line has the time of another zone is new beside a slower service', async () => {
  using files = tempDirectory();
  const pointers = { time: '/none', start: '/none' };
  const endpoints = { ...RECORDS.endpoints, pointers };
  const options = { directory: files.path, createReader: createLineReader };
  const logs = { endpoints, types: ['error-log'] };
  const first = await open(logs, { ...options, services: ['dbpgf1'] });
  await first.pull();
  await first[Symbol.asyncDispose]();
  // The new service begins two hours back.
  await using site = await open(logs, { ...options, startMs: NOW + 10 * MINUTE });
  const text = '2026-03-04  4:05:00 0 [Note] five hours behind UTC';
  site.book.write(ERRORS, { text, atMs: NOW + 5 * MINUTE });
  await site.pull();
  expect(site.bodies).toEqual([text]);
});

test('a pull ends where it began, although each answer takes a second', async () => {
  await using world = new KeyWorld();
  const logs = world.logs({ ...RECORDS, types: ['error-log'] });
  let requestCount = 0;
  world.decide = () => ({ ms: requestCount++ === 0 ? 1 : 1000, status: 200 });
  const pulling = logs.pull(world.stop.signal);
  for (let i = 0; i < 60; i++) {
    await nextTurn();
    await world.clock.advance(500);
  }
  expect(requestCount).toBeLessThan(5);
  world.stop.abort();
  await pulling;
});

test.each([0, 500])(
  'a service that does not answer at all, or only fails, makes no gap: %d',
  async status => {
    await using world = new KeyWorld();
    const window = { max: '1h', min: '1h' };
    const logs = world.logs({ shape: 'records', types: ['error-log'], window });
    const pull = async (): Promise<string | undefined> => {
      const [end] = await world.passes(logs.pull(world.stop.signal), 10_000);
      return end?.kind;
    };
    expect(await pull()).toBe('done');
    await world.clock.advance(2 * HOUR);
    world.decide = () => ({ ms: 10_000, status });
    for (let i = 0; i < 6; i++) expect(await pull()).toBe('unreachable');
    expect(world.batches).toEqual([]);
  },
);

test.each([
  [false, 0],
  [true, 5],
])(
  'a list is read once more if its count changes (%s), and its records arrive once',
  async (isCountUnsteady, known) => {
    await using site = await open({ types: ['error-log'] });
    site.simulator.setFaults({ isCountUnsteady });
    for (let i = 0; i < 5; i++) site.writeOld(ERRORS, 20 * MINUTE - i, `line ${i}`);
    await site.pull();
    expect(site.bodies).toHaveLength(5);
    expect(site.count('records_total', 'dbpgf1', 'error-log', 'known')).toBe(known);
  },
);

test('an overlap below the retention is left out, and nothing is lost', async () => {
  await using site = await open({}, { startMs: NOW - 9 * HOUR + 5 * MINUTE });
  const midnight = NOW - 9 * HOUR;
  site.write(ERRORS, 'one');
  await site.pull();
  site.simulator.setFaults({ oldestMs: midnight });
  site.clock.forward(4 * MINUTE);
  site.write(ERRORS, 'two');
  site.clock.forward(4 * MINUTE);
  expect((await site.pull()).kind).toBe('done');
  expect(site.bodies).toEqual(['one', 'two']);
});

test('every record, late, reordered or identical, arrives once within the overlap', async () => {
  const action = constantFrom('write', 'late', 'equal', 'pull', 'restart', 'forward') as never;
  await assert(
    asyncProperty(
      array(tuple(action, integer({ min: 0, max: 14 })), { maxLength: 25 }),
      async steps => {
        await using site = await open();
        await site.pull();
        let number = 0;
        for (const [what, minutes] of steps as [string, number][]) {
          const atMs = site.clock.nowMs() - minutes * MINUTE;
          if (what === 'write') site.write(ERRORS, `line ${number++}`);
          if (what === 'late') site.book.write(AUDIT, { text: `late ${number++}`, atMs });
          if (what === 'equal')
            site.book.write(ERRORS, { text: 'equal', atMs: atMs - (atMs % MINUTE) });
          if (what === 'pull') await site.pull();
          if (what === 'restart') await site.restart();
          if (what === 'forward') site.clock.forward(minutes * MINUTE);
        }
        site.clock.forward(3 * MINUTE);
        await site.pull();
        const isInTime = ({ atMs }: { atMs: number }): boolean => atMs > NOW - 2 * HOUR;
        const want = site.book.issued.filter(isInTime).map(({ text }) => text);
        expect([...site.bodies].sort()).toEqual(want.sort());
      },
    ),
    { numRuns: 8, endOnFailure: true },
  );
}, 60_000);
