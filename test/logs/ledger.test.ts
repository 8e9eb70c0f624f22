// A state in the first stored form is read without pulling anything again, and is stored in the same form.

import { describe, expect, test, vi } from 'vitest';
import { DAY_MS } from '../../src/lib/clock.ts';
import { Ledger } from '../../src/logs/ledger.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { testService } from '../support/log-api.ts';
import { AUDIT, ERRORS, HOUR, LogSite, MINUTE, NOW } from '../support/log-site.ts';

const DAY = Date.UTC(2026, 2, 4);
const START = { lowMs: NOW, floorMs: NOW, sizeMs: DAY_MS, failureCount: 0, listedMs: null };

/** The state after two pulls, with the last record of each archive still open. */
const ARCHIVES: Readonly<Record<string, string>> = {
  'service/dbpgf1':
    '{"version":1,"floorMs":1772528400000,"openDayMs":1772582400000,"listedMs":1772615100000,"partitions":[{"source":"dbpgf1/orders-0","server":"orders-0","type":"error-log"},{"source":"dbpgf1/orders-1","server":"orders-1","type":"audit-log"}]}',
  'archives/["dbpgf1","dbpgf1/orders-0","error-log"]':
    '{"version":1,"archives":{"2026-03-04.orders-0.error-log":{"dayMs":1772582400000,"listedSize":32,"isRead":true,"readSize":32,"readBytes":327,"quietCount":1,"isFlushed":false,"tryCount":0,"nextTryMs":0,"setAside":"","setAsideSize":null,"absentFromMs":null,"entries":{"orders-0/error-log/2026-03-04.json":{"bytes":327,"lines":4,"hash":"63a6afb9c1ac147b53fa5bcc7d6a99cb7c8cf7330af5f0f2a5e400d047e1bb33","hasTail":false,"reader":"{\\"lines\\":[\\"open\\",\\" tail\\"],\\"offset\\":241,\\"timeMs\\":1772613660000,\\"stream\\":\\"stderr\\",\\"marks\\":0}"}}}}}',
  'archives/["dbpgf1","dbpgf1/orders-1","audit-log"]':
    '{"version":1,"archives":{"2026-03-04.orders-1.audit-log":{"dayMs":1772582400000,"listedSize":6,"isRead":true,"readSize":6,"readBytes":79,"quietCount":1,"isFlushed":false,"tryCount":0,"nextTryMs":0,"setAside":"","setAsideSize":null,"absentFromMs":null,"entries":{"orders-1/audit-log/2026-03-04.json":{"bytes":79,"lines":1,"hash":"ca1c13e3def2d51a462945f7a2f976594ce18d11c3929fabdf28827e27b06a91","hasTail":false,"reader":"{\\"lines\\":[\\"audit\\"],\\"offset\\":0,\\"timeMs\\":1772613600000,\\"stream\\":\\"stderr\\",\\"marks\\":0}"}}}}}',
};

const RECORDS: Readonly<Record<string, string>> = {
  'records/["dbpgf1","error-log"]':
    '{"version":1,"lowMs":1772614980000,"floorMs":1772607600000,"sizeMs":600000,"failureCount":2,"segments":[{"number":7,"lastMs":1772614800000}]}',
};
const UIDS = ['00112233445566778899aabbccddeeff', 'ffeeddccbbaa99887766554433221100'];
const TIMES = [1772614700000, 1772614800000];

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

async function load(queue: Queue, shape: 'archives' | 'records', type: string): Promise<Ledger> {
  const options = { config: { shape, types: [type] }, services: [testService('dbpgf1')] };
  return (await Ledger.load(queue, { ...options, start: START })) ?? expect.fail('no ledger');
}

describe('archives', () => {
  test('are read, and stored in the same form', async () => {
    await using site = await LogSite.open();
    await store(site.queue, ARCHIVES);
    const ledger = await load(site.queue, 'archives', '');
    const track = ledger.track('dbpgf1');
    expect(track).toMatchObject({ isFresh: false, type: '' });
    expect(track.cursor).toMatchObject({
      lowMs: DAY,
      floorMs: NOW - DAY_MS,
      listedMs: 1772615100000,
    });
    expect(ledger.archives().map(({ partition, id }) => `${partition.server} ${id}`)).toEqual([
      'orders-0 2026-03-04.orders-0.error-log',
      'orders-1 2026-03-04.orders-1.audit-log',
    ]);
    expect(ledger.changes()).toEqual([]);
    ledger.move(track, {});
    for (const archive of ledger.archives()) ledger.setArchive(archive, archive.state);
    const stored = ledger.changes().map(({ key, blob }) => [key, blob?.toString()]);
    expect(Object.fromEntries(stored)).toEqual(ARCHIVES);
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

test('while the queue cannot be read, a pull waits; then it continues', async () => {
  await using site = await LogSite.open({ services: ['dbpgf1'] });
  site.write(ERRORS, 'a');
  await site.pulls(2);
  site.clock.forward(3 * HOUR);
  // A first start would skip this line.
  site.writeOld(ERRORS, 2 * HOUR, 'b');
  await site.restart({ first_start: '1h' });
  const unreadable = vi.spyOn(site.queue, 'readState').mockResolvedValue(undefined);
  expect(await site.pull()).toEqual({ kind: 'failed' });
  unreadable.mockRestore();
  await site.pulls(3);
  expect(site.bodies).toEqual(['a', 'b']);
  expect(site.gaps).toEqual([]);
});

test('the number of partitions is bounded', async () => {
  await using site = await LogSite.open();
  const ledger = await load(site.queue, 'archives', '');
  const service = testService('dbpgf1');
  const add = (source: string): boolean =>
    ledger.addPartition({ service, source, server: '', type: 'error-log' });
  for (let i = 0; i < 10_000; i++) expect(add(`${i}`)).toBe(true);
  expect(add('one more')).toBe(false);
  expect(add('17')).toBe(true);
  expect(ledger.partitions).toHaveLength(10_000);
});

describe('records', () => {
  const segment = (number: number): string => `uids/["dbpgf1","error-log"]/${number}`;
  const blob = Buffer.concat(
    UIDS.map((uid, i) => {
      const time = Buffer.alloc(8);
      time.writeDoubleBE(TIMES[i] ?? 0);
      return Buffer.concat([Buffer.from(uid, 'hex'), time]);
    }),
  );

  test('are read, and stored in the same form, a segment for each commit', async () => {
    await using site = await LogSite.open();
    await store(site.queue, { ...RECORDS, [segment(7)]: blob });
    const ledger = await load(site.queue, 'records', 'error-log');
    const track = ledger.track('dbpgf1', 'error-log');
    expect(track.isFresh).toBe(false);
    expect([...track.sent]).toEqual(UIDS.map((uid, i) => [uid, TIMES[i]]));
    ledger.move(track, {});
    const [change] = ledger.changes();
    expect({ [change?.key ?? '']: change?.blob?.toString() }).toEqual(RECORDS);
    ledger.stored();
    ledger.addSent(
      track,
      UIDS.map((uid, i) => ({ uid, timeMs: TIMES[i] ?? 0 })),
    );
    const changes = new Map(ledger.changes().map(one => [one.key, one.blob]));
    expect(changes.get(segment(8))).toEqual(blob);
    expect(JSON.parse(String(changes.get('records/["dbpgf1","error-log"]'))).segments).toEqual([
      { number: 7, lastMs: 1772614800000 },
      { number: 8, lastMs: 1772614800000 },
    ]);
  });

  test('that will not be requested again are forgotten with their segments', async () => {
    await using site = await LogSite.open();
    await store(site.queue, { ...RECORDS, [segment(7)]: blob });
    const ledger = await load(site.queue, 'records', 'error-log');
    const track = ledger.track('dbpgf1', 'error-log');
    ledger.forgetSent(track, 1772614750000);
    expect([...track.sent.keys()]).toEqual(UIDS.slice(1));
    expect(ledger.changes().map(({ key }) => key)).toEqual(Object.keys(RECORDS));
    // The last record may still be requested, so it is kept with its segment.
    ledger.forgetSent(track, 1772614800000);
    expect(ledger.changes().map(({ key }) => key)).toEqual(Object.keys(RECORDS));
    ledger.forgetSent(track, 1772614800001);
    expect(ledger.changes()).toContainEqual({ kind: 'logs', key: segment(7), blob: null });
    expect(track.sent.size).toBe(0);
  });
});

test('a state of another version counts as none: reading starts again', async () => {
  await using site = await LogSite.open();
  await store(site.queue, { 'service/dbpgf1': '{"version":2}', 'service/dbpgf2': 'no JSON' });
  const ledger = await load(site.queue, 'archives', '');
  expect(ledger.tracks).toMatchObject([{ isFresh: true, cursor: START }]);
});
