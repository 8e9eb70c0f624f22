import { describe, expect, test } from 'vitest';
import { createLineReader } from '../../src/logs/formats/reader.ts';
import type { RawLine } from '../../src/logs/record.ts';
import { IndentReader } from '../support/indent-reader.ts';
import type { LogBook } from '../support/log-book.ts';
import { AUDIT, DAY, ERRORS, HOUR, LogSite, MINUTE, NOW, OTHER } from '../support/log-site.ts';

describe('an archive that grows', () => {
  test('is read from the delivered part on, and its open record is sent once it has stopped growing', async () => {
    await using site = await LogSite.open();
    site.write(ERRORS, 'one', 'two');
    expect((await site.pull()).kind).toBe('done');
    expect(site.bodies).toEqual(['one']);
    site.write(ERRORS, ' more', 'three');
    await site.pull();
    expect(site.bodies).toEqual(['one', 'two\n more']);
    await site.pulls(2);
    expect(site.bodies).toEqual(['one', 'two\n more', 'three']);
    expect(site.downloads).toBe(3);
    site.write(ERRORS, ' late', 'four');
    await site.pulls(3);
    expect(site.bodies.slice(3)).toEqual([' late', 'four']);
    expect(site.delivered.at(3)?.attributes['prom2otlp.log.continuation']).toBe('true');
  });

  test('is downloaded once more if it has not grown, and then no more, also after a restart', async () => {
    await using site = await LogSite.open();
    site.write(ERRORS, 'one', 'two');
    await site.pulls(4);
    const { downloads } = site;
    await site.restart();
    await site.pulls(3);
    expect([downloads, site.downloads]).toEqual([2, 2]);
    expect(site.bodies).toEqual(['one', 'two']);
    expect(site.count('archives_total', 'unchanged')).toBe(3);
  });

  test('gives every line once over restarts, whatever happens in between', async () => {
    await using site = await LogSite.open();
    for (let i = 0; i < 12; i++) {
      site.write(ERRORS, `line ${i}`, ` and more of ${i}`);
      if (i % 2 === 0) site.write(AUDIT, `audit ${i}`);
      await site.pull();
      await site.restart();
      site.clock.forward(5 * MINUTE);
    }
    await site.pulls(3);
    const lines = site.bodies.flatMap(body => body.split('\n'));
    expect(lines.sort()).toEqual(site.written.toSorted());
    expect(new Set(site.delivered.map(({ uid }) => uid)).size).toBe(site.delivered.length);
  });

  test.each([
    ['raw', {}],
    ['json', { archiveForm: 'gzip' }],
    ['json', { archiveForm: 'plain' }],
    ['json', { hasLinePrefix: true }],
    ['raw', { hasLinePrefix: true, archiveForm: 'gzip' }],
  ] as const)(
    'may be read in another form, packed differently, or with the prefixes of a runtime: %s %j',
    async (format, faults) => {
      await using site = await LogSite.open({ logs: { endpoints: { format } } });
      site.simulator.setFaults(faults);
      const long = 'x'.repeat(40_000);
      site.write(ERRORS, 'one', ' two', long);
      await site.pull();
      site.write(ERRORS, 'three');
      await site.pulls(3);
      expect(site.bodies).toEqual(['one\n two', long, 'three']);
    },
  );

  test('without a listed size is downloaded as long as it may grow', async () => {
    await using site = await LogSite.open();
    site.simulator.setFaults({ isSizeHidden: true });
    site.write(ERRORS, 'one', 'two');
    await site.pulls(6);
    expect(site.bodies).toEqual(['one', 'two']);
    site.write(ERRORS, 'after some quiet');
    await site.pulls(5);
    expect(site.bodies).toEqual(['one', 'two', 'after some quiet']);
    site.clock.forward(24 * HOUR);
    await site.pulls(3);
    const { downloads } = site;
    await site.pulls(3);
    expect(site.downloads).toBe(downloads);
    expect(site.bodies).toHaveLength(3);
    expect(site.gaps).toEqual([]);
  });
});

test('lines of an archive without a listed size arrive, although no pull came from before they were written until its day had closed', async () => {
  await using site = await LogSite.open();
  site.simulator.setFaults({ isSizeHidden: true });
  site.write(ERRORS, 'one', 'two');
  await site.pulls(5);
  expect(site.bodies).toEqual(['one', 'two']);
  site.clock.forward(22 * HOUR);
  site.writeOld(ERRORS, 16 * HOUR, 'unseen');
  await site.pulls(5);
  expect(site.bodies).toEqual(['one', 'two', 'unseen']);
  const { downloads } = site;
  await site.pulls(2);
  expect([site.downloads, site.gaps]).toEqual([downloads, []]);
});

describe('each record', () => {
  test('carries its service, its position and its time', async () => {
    await using site = await LogSite.open();
    site.write(ERRORS, 'one', 'two');
    site.write(OTHER, 'other', 'end');
    await site.pull();
    expect(site.delivered[0]).toMatchObject({
      body: 'one',
      service: 'dbpgf1',
      severity: 'Note',
      attributes: {
        server_name: 'orders-0',
        'prom2otlp.log.type': 'error-log',
        'log.file.name': 'orders-0/error-log/2026-03-04.json',
        'log.iostream': 'stderr',
        'log.record.uid': expect.stringMatching(/^[\da-f]{32}$/),
      },
    });
    expect(Math.abs((site.delivered[0]?.timeMs ?? 0) - NOW)).toBeLessThan(2 * MINUTE);
    expect(site.delivered[1]?.service).toBe('dbpgf2');
    expect(site.queue.account.get('dbpgf2', 'point/accepted')).toBe(1);
  });

  test('has the same id at any time and place of reading', async () => {
    const uids = async (): Promise<string[]> => {
      await using site = await LogSite.open();
      for (const [i, text] of ['one', 'two', 'one', 'end'].entries())
        site.book.write(ERRORS, { text, atMs: NOW - HOUR + Math.floor(i / 3) });
      await site.pulls(3);
      return site.delivered.map(({ uid }) => uid);
    };
    const first = await uids();
    expect(new Set(first).size).toBe(4);
    expect(await uids()).toEqual(first);
  });

  test('is skipped if its service is not configured', async () => {
    await using site = await LogSite.open({ services: ['dbpgf2'] });
    site.write(ERRORS, 'one', 'two');
    site.write(OTHER, 'other', 'end');
    await site.pull();
    expect(site.bodies).toEqual(['other']);
    expect(site.count('refused_items_total', 'service')).toBeGreaterThan(0);
  });

  test('is skipped if it is from before the first start', async () => {
    await using site = await LogSite.open({ logs: { first_start: '1h' } });
    site.writeOld(ERRORS, 2 * HOUR, 'old');
    site.writeOld(ERRORS, HOUR / 2, 'new');
    site.writeOld(ERRORS, 1, 'end');
    site.writeOld(ERRORS, DAY, 'yesterday');
    await site.pull();
    expect(site.bodies).toEqual(['new']);
    expect(site.count('records_total', 'dbpgf1', 'error-log', 'before_start')).toBe(1);
    await site.restart();
    site.write(ERRORS, 'after');
    await site.pull();
    expect(site.bodies).toEqual(['new', 'end']);
  });

  test('is sent on later days whatever its own time: SQL can set that', async () => {
    await using site = await LogSite.open({
      logs: { endpoints: { format: 'raw' } },
      createReader: createLineReader,
    });
    await site.pull();
    site.clock.forward(2 * DAY);
    site.write(
      { ...ERRORS, type: 'slow-query-log' },
      '# User@Host: app[app] @ web-1 [10.0.0.9]',
      '# Thread_id: 75  Schema: shop  QC_hit: No',
      '# Query_time: 2.000215  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210',
      '# Rows_affected: 0  Bytes_sent: 65',
      'SET timestamp=1;',
      'SELECT everything;',
    );
    await site.pulls(4);
    const statements = site.delivered.map(({ attributes }) => attributes['db.query.text']);
    expect(statements).toContain('SELECT everything');
  });
});

describe('over midnight', () => {
  test('lines that are filed under yesterday arrive within the grace', async () => {
    await using site = await LogSite.open();
    site.write(ERRORS, 'one', 'two');
    await site.pull();
    site.clock.forward(18 * HOUR);
    site.write(ERRORS, 'today');
    await site.pull();
    const late = { text: 'late', atMs: NOW + 14 * HOUR };
    site.book.write(ERRORS, late);
    await site.pulls(3);
    expect([...site.bodies].sort()).toEqual(['late', 'one', 'today', 'two']);
  });

  test('a closed day is forgotten, and not read again when it changes', async () => {
    await using site = await LogSite.open();
    site.write(ERRORS, 'one', 'two');
    await site.pulls(3);
    site.clock.forward(22 * HOUR);
    await site.pulls(3);
    site.book.write(ERRORS, { text: 'far too late', atMs: NOW });
    const { downloads } = site;
    await site.pulls(3);
    expect([site.bodies, site.downloads]).toEqual([['one', 'two'], downloads]);
    expect(site.gaps).toEqual([]);
  });
});

test('late and reordered lines arrive in the order of the file', async () => {
  await using site = await LogSite.open();
  site.writeOld(ERRORS, 5 * MINUTE, 'b');
  site.writeOld(ERRORS, 7 * MINUTE, 'a');
  await site.pull();
  site.writeOld(ERRORS, 3 * HOUR, 'late by hours');
  site.writeOld(ERRORS, MINUTE, 'c');
  await site.pulls(3);
  expect(site.bodies).toEqual(['b', 'a', 'late by hours', 'c']);
});

describe('an archive that is rewritten', () => {
  async function openRewritten(
    texts: readonly string[],
    pulls: number,
    rewrite: Parameters<LogBook['rewrite']>[1],
  ): Promise<LogSite> {
    const site = await LogSite.open();
    site.write(ERRORS, ...texts);
    await site.pulls(pulls);
    site.book.rewrite(site.book.issued[0]?.archive ?? '', rewrite);
    await site.pulls(4);
    return site;
  }

  test('is read again: nothing is lost, and unmoved records keep their ids', async () => {
    const line = { text: 'two, repaired', atMs: NOW };
    await using site = await openRewritten(['one', 'two', 'three'], 1, ([first, , ...rest]) => [
      first ?? line,
      line,
      ...rest,
    ]);
    // The open record is sent first, because it may be missing from the new file.
    expect(site.bodies).toEqual(['one', 'two', 'three', 'one', 'two, repaired', 'three']);
    expect(site.delivered[3]?.uid).toBe(site.delivered[0]?.uid);
    expect(site.count('rewritten_entries_total')).toBe(1);
  });

  test('releases the last record if it was held back, also when it is shorter than before', async () => {
    const rotated = [{ text: 'rotated', atMs: NOW }];
    await using site = await openRewritten(['one', 'two', ' of two'], 1, () => rotated);
    expect(site.bodies).toEqual(['one', 'two\n of two', 'rotated']);
    await using flushed = await openRewritten(['one', 'two', 'three'], 3, () => rotated);
    expect(flushed.bodies).toEqual(['one', 'two', 'three', 'rotated']);
  });
});

test('a stop does not wait for lines that are skipped', async () => {
  const stop = new AbortController();
  let seen = 0;
  const createReader = (): IndentReader => {
    const reader = new IndentReader();
    const push = reader.push.bind(reader);
    return Object.assign(reader, {
      push: (line: RawLine) => {
        if (++seen === 100) {
          stop.abort();
          site.clock.forward(1000);
        }
        return push(line);
      },
    });
  };
  await using site = await LogSite.open({ logs: { first_start: '10m' }, createReader });
  const texts = Array.from({ length: 2000 }, (_, i) => `old ${i}`);
  site.writeOld(ERRORS, HOUR, ...texts);
  expect(await site.pull(stop.signal)).toEqual({ kind: 'stopped' });
  expect(seen).toBeLessThan(200);
});

test('an archive that cannot be downloaded counts as lag, also on the next day and after a restart', async () => {
  await using site = await LogSite.open({ services: ['dbpgf1'], logs: { types: ['error-log'] } });
  const doneMs = (): number => site.logs.meter.partitions[0]?.doneUntilMs ?? Number.NaN;
  site.write(ERRORS, 'one', 'two');
  await site.pull();
  const lastMs = doneMs();
  expect(lastMs).toBeGreaterThan(0);
  const [today, tomorrow] = ['2026-03-04.orders-0.error-log', '2026-03-05.orders-0.error-log'];
  site.simulator.setFaults({ archives: { [today]: 'cut', [tomorrow]: 'cut' } });
  site.write(ERRORS, 'three');
  await site.pulls(2, 8 * HOUR);
  expect(doneMs()).toBe(lastMs);
  site.write(ERRORS, 'four');
  await site.pull();
  expect(doneMs()).toBe(lastMs);
  await site.restart();
  await site.pull();
  // How far it was read is not stored: the lag counts from the beginning of its day.
  expect(doneMs()).toBe(Date.UTC(2026, 2, 4));
  expect(site.count('lag_seconds', 'dbpgf1', 'error-log')).toBeGreaterThan(DAY / 1000);
});

test('a type that can be listed again waits again at once, whatever failed before', async () => {
  await using site = await LogSite.open({ logs: { schedule: '30s' } });
  for (const place of [ERRORS, AUDIT]) site.write(place, 'one', 'end');
  await site.pulls(4);
  const states = (): readonly string[] =>
    site.logs.meter.partitions
      .map(({ type, state, lastError }) => `${type} ${state} ${lastError === null ? '' : 'error'}`)
      .toSorted();
  site.simulator.setFaults({ path: '/observability/v2/logs', status: 404 });
  await site.pull();
  expect(states()).toEqual(['audit-log failed error', 'error-log failed error']);
  site.simulator.resetFaults();
  site.simulator.setFaults({ listStatuses: { 'audit-log': 404 } });
  await site.pull();
  expect(states()).toEqual(['audit-log failed error', 'error-log waiting ']);
  site.simulator.resetFaults();
  await site.pull();
  expect(states()).toEqual(['audit-log waiting ', 'error-log waiting ']);
});
