// A state in the first stored form is read without pulling anything again. A state that does not fit is lost: that is told,
// and reading begins anew.

import { readFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { DAY_MS } from '../../src/lib/clock.ts';
import { dropRecordsState, Ledger } from '../../src/logs/ledger.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { testService } from '../support/log-api.ts';
import type { LogPlace } from '../support/log-book.ts';
import { AUDIT, ERRORS, HOUR, LogSite, MINUTE, NOW, OTHER } from '../support/log-site.ts';

const DAY = Date.UTC(2026, 2, 4);
const START = { lowMs: DAY, floorMs: NOW };

/** The state after two pulls, with the last record of each archive still open. */
const ARCHIVES: Readonly<Record<string, string>> = {
  'service/dbpgf1':
    '{"version":1,"floorMs":1772528400000,"openDayMs":1772582400000,"listedMs":1772615100000,"partitions":[{"source":"dbpgf1/orders-0","server":"orders-0","type":"error-log"},{"source":"dbpgf1/orders-1","server":"orders-1","type":"audit-log"}]}',
  'archives/["dbpgf1","dbpgf1/orders-0","error-log"]':
    '{"version":1,"archives":{"2026-03-04.orders-0.error-log":{"dayMs":1772582400000,"listedSize":32,"isRead":true,"readSize":32,"readBytes":327,"quietCount":1,"isFlushed":false,"tryCount":0,"nextTryMs":0,"setAside":"","setAsideSize":null,"absentFromMs":null,"entries":{"orders-0/error-log/2026-03-04.json":{"bytes":327,"lines":4,"hash":"63a6afb9c1ac147b53fa5bcc7d6a99cb7c8cf7330af5f0f2a5e400d047e1bb33","hasTail":false,"reader":"{\\"lines\\":[\\"open\\",\\" tail\\"],\\"offset\\":241,\\"timeMs\\":1772613660000,\\"stream\\":\\"stderr\\",\\"marks\\":0}"}}}}}',
  'archives/["dbpgf1","dbpgf1/orders-1","audit-log"]':
    '{"version":1,"archives":{"2026-03-04.orders-1.audit-log":{"dayMs":1772582400000,"listedSize":6,"isRead":true,"readSize":6,"readBytes":79,"quietCount":1,"isFlushed":false,"tryCount":0,"nextTryMs":0,"setAside":"","setAsideSize":null,"absentFromMs":null,"entries":{"orders-1/audit-log/2026-03-04.json":{"bytes":79,"lines":1,"hash":"ca1c13e3def2d51a462945f7a2f976594ce18d11c3929fabdf28827e27b06a91","hasTail":false,"reader":"{\\"lines\\":[\\"audit\\"],\\"offset\\":0,\\"timeMs\\":1772613600000,\\"stream\\":\\"stderr\\",\\"marks\\":0}"}}}}}',
};

async function store(queue: Queue, state: Readonly<Record<string, string | Buffer>>) {
  const changes = Object.entries(state).map(([key, text]) => ({
    kind: 'logs',
    key,
    blob: Buffer.from(text),
  }));
  expect(await queue.commit({ batches: [], state: changes, reads: [] })).toMatchObject({
    kind: 'stored',
  });
}

async function load(queue: Queue): Promise<Ledger> {
  const options = { services: [testService('dbpgf1')], start: START };
  return (await Ledger.load(queue, options)) ?? expect.fail('no ledger');
}

describe('archives', () => {
  test('are read, and nothing is stored before something changes', async () => {
    await using site = await LogSite.open();
    await store(site.queue, ARCHIVES);
    const ledger = await load(site.queue);
    const track = ledger.track('dbpgf1');
    expect(track).toMatchObject({
      isNew: null,
      cursor: { lowMs: DAY, floorMs: NOW - DAY_MS },
    });
    expect(ledger.archives().map(({ partition, id }) => `${partition.server} ${id}`)).toEqual([
      'orders-0 2026-03-04.orders-0.error-log',
      'orders-1 2026-03-04.orders-1.audit-log',
    ]);
    expect(ledger.changes()).toEqual([]);
  });

  test('are stored so that they are read as they were', async () => {
    await using site = await LogSite.open();
    await store(site.queue, ARCHIVES);
    const ledger = await load(site.queue);
    const track = ledger.track('dbpgf1');
    const more = { listedMs: { a: 1 }, unlistedMs: { b: 2 }, lateMs: 3 };
    ledger.move(track, more);
    for (const archive of ledger.archives()) {
      const absent = { fromMs: 1, toMs: 2 };
      const state = { ...archive.state, endMs: 4, readFromMs: 5, isUntimed: true, absent };
      ledger.setArchive(archive, { ...state, givenUp: { size: null } });
    }
    await site.queue.commit({ batches: [], state: ledger.changes(), reads: [] });
    const again = await load(site.queue);
    expect(again.track('dbpgf1')).toEqual({ ...track, ...more });
    expect(again.archives().map(({ state }) => state)).toEqual(
      ledger.archives().map(({ state }) => state),
    );
  });

  test('continue where they stopped: nothing repeats, and held-back records arrive', async () => {
    await using site = await LogSite.open({ services: ['dbpgf1'] });
    await store(site.queue, ARCHIVES);
    for (const i of [1, 3, 5])
      site.book.write(ERRORS, { text: `line ${i}`, atMs: NOW - 30 * MINUTE + i * 1000 });
    site.book.write(AUDIT, { text: 'audit', atMs: NOW - 20 * MINUTE });
    site.book.write(ERRORS, { text: 'open\n tail', atMs: NOW - 19 * MINUTE });
    site.clock.forward(10 * MINUTE);
    site.write(ERRORS, 'new', 'newest');
    await site.pulls(2);
    expect(site.bodies.toSorted()).toEqual(['audit', 'new', 'open\n tail']);
    expect(site.count('rewritten_entries_total')).toBe(0);
    expect(site.gaps).toEqual([]);
  });
});

describe('the state of an earlier version', () => {
  const file = new URL('../fixtures/logs-state.old.json', import.meta.url);
  const old = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as object);

  test('is continued: nothing repeats, what was given up is tried again, and nothing is lost', async () => {
    await using site = await LogSite.open();
    // Times and texts are part of the bytes that were read.
    const write = (place: LogPlace, atMs: number, ...texts: readonly string[]): void => {
      for (const text of texts) site.book.write(place, { text, atMs });
    };
    write(ERRORS, NOW - MINUTE, 'one', 'two', 'three\n tail');
    write(AUDIT, NOW - MINUTE, 'audit', 'open');
    write(OTHER, NOW - MINUTE, 'other', 'end');
    write(ERRORS, NOW + 9 * MINUTE, 'more');
    await store(site.queue, Object.fromEntries(old.map(([k, v]) => [k, JSON.stringify(v)])));
    site.clock.forward(2 * HOUR);
    site.write(ERRORS, 'new', 'end');
    await site.pulls(4);
    expect(site.lostStates).toBe(0);
    expect(site.bodies.toSorted()).toEqual(['end', 'end', 'more', 'new', 'open', 'other']);
    expect(site.count('rewritten_entries_total')).toBe(0);
    expect(site.gaps).toEqual([]);
  });

  test('of lists of records is deleted', async () => {
    await using site = await LogSite.open();
    const records = { 'records/["dbpgf1",""]': '{}', 'uids/["dbpgf1",""]/7': 'x' };
    await store(site.queue, { ...ARCHIVES, ...records });
    expect(await dropRecordsState(site.queue)).toBe(2);
    expect(new Set(site.queue.stateKeys('logs'))).toEqual(new Set(Object.keys(ARCHIVES)));
    expect(await dropRecordsState(site.queue)).toBe(0);
  });
});

test('while the queue cannot be read, a pull waits; then it continues', async () => {
  await using site = await LogSite.open({ services: ['dbpgf1'] });
  site.write(ERRORS, 'a');
  await site.pulls(2);
  site.clock.forward(3 * HOUR);
  // A first start would skip this line.
  site.writeOld(ERRORS, 2 * HOUR, 'b');
  await site.restart({ first_start: '1h' });
  const unreadable = vi.spyOn(site.queue, 'restoreState').mockResolvedValue(undefined);
  expect(await site.pull()).toEqual({ kind: 'failed' });
  unreadable.mockRestore();
  await site.pulls(3);
  expect(site.bodies).toEqual(['a', 'b']);
  expect(site.gaps).toEqual([]);
});

test('the number of partitions is bounded', async () => {
  await using site = await LogSite.open();
  const ledger = await load(site.queue);
  const service = testService('dbpgf1');
  const add = (source: string): boolean =>
    ledger.addPartition({ service, source, server: '', type: 'error-log' });
  for (let i = 0; i < 10_000; i++) expect(add(`${i}`)).toBe(true);
  expect(add('one more')).toBe(false);
  expect(add('17')).toBe(true);
  expect(ledger.partitions).toHaveLength(10_000);
});

const SERVICE = 'service/dbpgf1';
const ERROR_LOG = 'archives/["dbpgf1","dbpgf1/orders-0","error-log"]';

describe('a state that does not fit', () => {
  /** Changes a text in a stored state. */
  const changed = (key: string, from: string, to: string): Record<string, string> => {
    const text = ARCHIVES[key]?.replace(from, to) ?? '';
    expect(text).not.toBe(ARCHIVES[key]);
    return { ...ARCHIVES, [key]: text };
  };

  test.each([
    ['another version', '"version":1', '"version":3'],
    ['no JSON', '{', ''],
    ['a text for a number', '1772582400000', '"1772582400000"'],
    ['a day that is none', '1772582400000', '1772582400001'],
    ['a time that is none', '1772528400000', '1e300'],
    ['a missing list', '"partitions"', '"partitionz"'],
    ['a partition without a type', ',"type":"error-log"', ''],
  ])('of a service is lost: %s', async (_, from, to) => {
    await using site = await LogSite.open();
    await store(site.queue, changed(SERVICE, from, to));
    const ledger = await load(site.queue);
    expect(ledger.tracks).toMatchObject([{ isNew: 'state_lost', cursor: START }]);
    expect(site.lostStates).toBe(1);
  });

  test('of a service is lost if its blob is damaged', async () => {
    await using site = await LogSite.open();
    await store(site.queue, ARCHIVES);
    vi.spyOn(site.queue, 'restoreState').mockResolvedValue(null);
    expect((await load(site.queue)).tracks).toMatchObject([{ isNew: 'state_lost' }]);
  });

  test.each([
    ['an entry without a hash', '"hash"', '"hasg"'],
    ['a negative number of bytes', '"bytes":327', '"bytes":-327'],
    ['a day that is none', '1772582400000', '1772582400064'],
    ['a reader that is no text', '"reader":"', '"reader":[],"r":"'],
    ['no archives', '"archives"', '"archivez"'],
  ])('of a partition is lost, and the others are not: %s', async (_, from, to) => {
    await using site = await LogSite.open();
    await store(site.queue, changed(ERROR_LOG, from, to));
    const ledger = await load(site.queue);
    expect(ledger.archives().map(({ partition: { type } }) => type)).toEqual(['audit-log']);
    expect(site.lostStates).toBe(1);
  });

  test('is counted, shown and reported as a gap, and pulling goes on', async () => {
    await using site = await LogSite.open({ services: ['dbpgf1'] });
    await store(site.queue, changed(SERVICE, '1772582400000', 'null'));
    site.write(ERRORS, 'one', 'end');
    await site.pulls(2);
    expect(site.bodies).toEqual(['one']);
    expect(site.lostStates).toBe(1);
    expect(site.queue.notes()).toMatchObject([expect.stringContaining('logs.first_start')]);
    expect(site.gaps).toMatchObject([{ service: 'dbpgf1', reason: 'state_lost' }]);
    await site.restart();
    await site.pulls(2);
    expect(site.gaps).toHaveLength(1);
    expect(site.lostStates).toBe(0);
  });

  test('of a partition costs duplicates with the same ids, and no line', async () => {
    await using site = await LogSite.open({ services: ['dbpgf1'] });
    site.write(ERRORS, 'one', 'two');
    await site.pulls(4);
    await store(site.queue, { [ERROR_LOG]: '{"version":1,"archives":[]}' });
    await site.restart();
    site.write(ERRORS, 'three', 'end');
    await site.pull();
    expect(site.bodies).toEqual(['one', 'two', 'one', 'two', 'three']);
    expect(new Set(site.delivered.map(({ uid }) => uid)).size).toBe(3);
    expect(site.gaps).toEqual([]);
  });
});

test.each(Object.keys(ARCHIVES))(
  'any one bit of %s that changes costs at most that state',
  async key => {
    await using site = await LogSite.open();
    const blob = Buffer.from(ARCHIVES[key] ?? '');
    for (let bit = 0; bit < blob.length * 8; bit += 7) {
      const bad = Buffer.from(blob);
      bad.writeUInt8((bad[bit >> 3] ?? 0) ^ (1 << (bit & 7)), bit >> 3);
      await store(site.queue, { ...ARCHIVES, [key]: bad });
      const lostBefore = site.lostStates;
      const ledger = await load(site.queue);
      expect(ledger.tracks).toHaveLength(1);
      const lostCount = site.lostStates - lostBefore;
      expect(ledger.archives().length + lostCount).toBeGreaterThanOrEqual(1);
    }
  },
);
