import { randomBytes } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { listPages } from '../../src/logs/list.ts';
import { PulledApi } from '../../src/logs/pull.ts';
import { startHttpServer } from '../support/http-server.ts';
import { KeyWorld, queryOf } from '../support/key-world.ts';
import {
  AUDIT,
  DAY,
  type Delivered,
  ERRORS,
  HOUR,
  LogSite,
  MINUTE,
  NOW,
  OTHER,
  THIRD,
} from '../support/log-site.ts';
import { until } from '../support/program.ts';

const LOGS = '/observability/v2/logs';
const ARCHIVE = `${LOGS}/archive`;
const ERRORS_ID = '2026-03-04.orders-0.error-log';

/** Two archives; the first one will break. */
async function openSite(logs: object = {}): Promise<LogSite> {
  const site = await LogSite.open({ logs });
  site.write(ERRORS, 'one', 'two', 'end');
  site.write(OTHER, 'other', 'end');
  return site;
}

describe('a broken archive', () => {
  test.each(['cut', 'html', 'missing', 'checksum', 'lacking'] as const)(
    'does not delay the others, and arrives when it is whole again: %s',
    async fault => {
      await using site = await openSite();
      site.simulator.setFaults({ archives: { [ERRORS_ID]: fault } });
      expect((await site.pull()).kind).toBe('done');
      expect(site.bodies).toEqual(['other']);
      site.simulator.resetFaults();
      site.clock.forward(6 * MINUTE);
      await site.pull();
      expect(site.bodies).toEqual(['other', 'one', 'two']);
      expect(site.gaps).toEqual([]);
    },
  );

  test('is one without a byte, although the list has a size for it', async () => {
    await using site = await openSite();
    site.simulator.setFaults({ path: ARCHIVE, body: 'empty', times: 2 });
    await site.pulls(5);
    expect([...site.bodies].sort()).toEqual(['end', 'end', 'one', 'other', 'two']);
    expect(site.gaps).toEqual([]);
  });

  test('is one that lacks an entry that it had before', async () => {
    await using site = await openSite();
    // Without sizes in the list only the entries show the fault.
    site.simulator.setFaults({ isSizeHidden: true });
    await site.pull();
    site.write(ERRORS, 'more');
    site.simulator.setFaults({ archives: { [ERRORS_ID]: 'lacking' } });
    await site.pull();
    expect(site.count('archives_total', 'broken')).toBe(1);
    site.simulator.setFaults({ archives: {} });
    await site.pulls(5);
    expect(site.bodies).toContain('more');
  });

  test('is given up after five attempts in an hour, with a gap that is counted and sent', async () => {
    await using site = await openSite();
    site.simulator.setFaults({ archives: { [ERRORS_ID]: 'cut' } });
    await site.pulls(14);
    expect(site.count('archives_total', 'broken')).toBe(4);
    expect(site.count('archives_total', 'given_up')).toBe(1);
    expect(site.logs.meter.givenUp).toMatchObject([{ archive: ERRORS_ID, reason: 'cut' }]);
    expect(site.count('gaps_total', 'dbpgf1', 'error-log', 'cut')).toBe(1);
    expect(site.gaps).toMatchObject([
      {
        severity: 'WARN',
        service: 'dbpgf1',
        from: '2026-03-04T00:00:00.000Z',
        to: '2026-03-05T00:00:00.000Z',
        reason: 'cut',
        archive: ERRORS_ID,
        body: expect.stringContaining('error-log of dbpgf1/orders-0') as string,
      },
    ]);
    await site.restart();
    await site.pulls(3);
    expect(site.gaps).toHaveLength(1);
    // Its size is given up, whatever comes; another size starts anew.
    site.simulator.resetFaults();
    const { downloads } = site;
    await site.pulls(14);
    expect([site.downloads, site.bodies]).toEqual([downloads, ['other', 'end']]);
    site.write(ERRORS, 'after');
    await site.pull();
    expect(site.bodies).toContain('one');
    expect(site.gaps).toHaveLength(1);
  });

  test.each([
    ['bomb', 'ratio_limit', { limits: { ratio: 5 } }],
    ['encrypted', 'encrypted', {}],
    ['nested', 'nested', {}],
  ] as const)(
    'is given up after five attempts, whatever is wrong: %s',
    async (fault, reason, logs) => {
      await using site = await openSite(logs);
      site.simulator.setFaults({ archives: { [ERRORS_ID]: fault } });
      await site.pulls(14);
      expect(site.gaps).toMatchObject([{ reason }]);
      expect(site.bodies.filter(body => body === 'other')).toHaveLength(1);
    },
  );

  test('is read up to the limit, if possible', async () => {
    await using unpacked = await openSite({
      limits: { unpacked: '253B' },
      endpoints: { format: 'raw' },
    });
    for (let i = 0; i < 100; i++) unpacked.write(ERRORS, `line ${i}`);
    await unpacked.pulls(14);
    expect(unpacked.gaps[0]?.reason).toBe('unpacked_limit');
    // Up to the last byte below the limit.
    const written = unpacked.book.issued.filter(({ archive }) => archive === ERRORS_ID);
    const below = written.map(({ text }) => text).join('\n');
    const ofArchive = ({ service, eventName }: Delivered) =>
      service === 'dbpgf1' && eventName === '';
    const bodies = unpacked.delivered.filter(ofArchive).map(({ body }) => body);
    const sent = bodies.join('\n');
    expect(sent).toBe(below.slice(0, 253));
    expect(unpacked.count('gaps_total', 'dbpgf1', 'error-log', 'unpacked_limit')).toBe(1);
  });

  test.each(['missing', 'cut', 'encrypted'] as const)(
    'does not hold back earlier records when it is given up: %s',
    async fault => {
      await using site = await openSite();
      site.write(ERRORS, 'last');
      await site.pull();
      expect(site.bodies).toEqual(['one', 'two', 'end', 'other']);
      site.write(ERRORS, 'more');
      site.simulator.setFaults({ archives: { [ERRORS_ID]: fault } });
      await site.pulls(14);
      expect(site.gaps).toHaveLength(1);
      await site.restart();
      await site.pulls(3);
      expect(site.bodies.filter(body => body === 'last')).toHaveLength(1);
    },
  );
});

/** Pulls `count` times, while the other archive grows and is delivered. */
function pullsWithOther(site: LogSite, count: number): Promise<void> {
  return site.pulls(count, 5 * MINUTE, number => site.write(OTHER, `more ${number}`));
}

describe('an archive that the service does not deliver', () => {
  test('holds up no other archive of any day', async () => {
    await using site = await LogSite.open({ logs: { schedule: '30s' } });
    for (const place of [ERRORS, AUDIT]) site.writeOld(place, 20 * HOUR, 'yesterday', 'end');
    site.write(OTHER, 'today', 'end');
    site.simulator.setFaults({
      archives: { '2026-03-03.orders-0.error-log': 500, '2026-03-03.orders-1.audit-log': 500 },
    });
    expect((await site.pull()).kind).toBe('unreachable');
    await site.pull();
    expect(site.bodies).toContain('today');
    site.simulator.resetFaults();
    site.clock.forward(HOUR);
    await site.pulls(2);
    expect([...site.bodies].sort()).toEqual(['end', 'today', 'yesterday', 'yesterday']);
    expect(site.gaps).toEqual([]);
  });

  test('holds up no other API, even if it fails for several of them', async () => {
    const services = ['dbpgf1', 'dbpgf2', 'dbpgf3'];
    await using site = await LogSite.open({ logs: { schedule: '30s' }, services, isApart: true });
    for (const place of [ERRORS, OTHER, THIRD]) site.write(place, 'one', 'end');
    const sick = { [ERRORS_ID]: 503, '2026-03-04.ledger-0.error-log': 503 };
    site.simulator.setFaults({ archives: sick });
    const { signal } = new AbortController();
    const [first, second, third] = site.logs.pullers;
    let areOver = false;
    const pulling = Promise.all([first?.pull(signal), second?.pull(signal)]);
    void pulling.then(() => (areOver = true));
    await until('both have failed', () => site.count('errors_total', 'server_error') > 1);
    expect((await third?.pull(signal))?.kind).toBe('done');
    expect(areOver).toBe(false);
    await pulling;
  });

  test.each([403, 503])('is waited for, whatever else is delivered: %d', async status => {
    await using site = await openSite({ schedule: '30s' });
    site.simulator.setFaults({ archives: { [ERRORS_ID]: status } });
    for (let day = 0; day < 5; day++) {
      await pullsWithOther(site, 4);
      site.clock.forward(DAY);
    }
    expect(site.gaps).toEqual([]);
    expect(site.statuses).toMatchObject([{ state: 'ok' }]);
    site.simulator.resetFaults();
    await site.pulls(3);
    expect(site.bodies).toContain('one');
    expect(site.gaps).toEqual([]);
  });

  test('is a gap once the service no longer lists it', async () => {
    await using site = await openSite();
    site.simulator.setFaults({ archives: { [ERRORS_ID]: 403 } });
    await pullsWithOther(site, 4);
    site.clock.forward(8 * DAY);
    await pullsWithOther(site, 4);
    const from = '2026-03-04T00:00:00.000Z';
    const ofArchive = site.gaps.filter(({ archive }) => archive === ERRORS_ID);
    expect(ofArchive).toMatchObject([{ reason: 'vanished', from }]);
  });

  test.each([400, 401, 403])('waits for nothing once the key works again: %d', async status => {
    await using site = await openSite();
    // The other archive is delivered before the key is refused.
    site.simulator.setFaults({ archives: { [ERRORS_ID]: status } });
    await site.pull();
    expect(site.bodies).toEqual(['other']);
    site.simulator.resetFaults();
    await site.pull();
    expect(site.bodies).toEqual(['other', 'one', 'two']);
  });

  test.each([
    [400, 'bad_request'],
    [403, 'auth'],
  ])('does not make the key count as refused, unless no other is: %d', async (status, reason) => {
    await using site = await openSite();
    site.write(AUDIT, 'audit', 'end');
    const refused = { [ERRORS_ID]: status, '2026-03-04.orders-1.audit-log': status };
    await site.pull();
    site.write(ERRORS, 'more');
    site.write(AUDIT, 'more');
    site.simulator.setFaults({ archives: refused });
    for (let i = 0; i < 4; i++) {
      await pullsWithOther(site, 1);
      if (i > 0) expect(site.statuses).toMatchObject([{ state: 'ok', reason: '' }]);
    }
    site.simulator.setFaults({ archives: { '*': status } });
    site.clock.forward(HOUR);
    site.write(OTHER, 'more');
    await site.pull();
    expect(site.statuses).toMatchObject([{ state: 'failed', reason }]);
  });

  test('for the first time when its day is long over gets three days, too', async () => {
    await using site = await LogSite.open({ logs: { first_start: '6d' } });
    site.writeOld(ERRORS, 5 * DAY, 'old', 'end');
    site.simulator.setFaults({ archives: { '2026-02-27.orders-0.error-log': 403 } });
    await pullsWithOther(site, 20);
    site.clock.forward(DAY);
    await site.restart();
    await pullsWithOther(site, 20);
    expect(site.gaps).toEqual([]);
    site.simulator.resetFaults();
    await pullsWithOther(site, 8);
    expect(site.bodies).toContain('old');
    expect(site.gaps).toEqual([]);
  });
});

describe('a service that refuses', () => {
  test.each([400, 401, 403])(
    'the key is reported, and gets no useless requests: %d',
    async refusalStatus => {
      await using site = await openSite();
      await site.pull();
      const asked = site.simulator.requests.count;
      site.simulator.refusalStatus = refusalStatus;
      site.simulator.key = 'another-key';
      expect((await site.pull()).kind).toBe('unreachable');
      // Each type is listed once, and after a 400 once more, for today alone.
      const perType = refusalStatus === 400 ? 2 : 1;
      expect(site.simulator.requests.count - asked).toBeLessThanOrEqual(4 * perType);
      const lastError = expect.stringContaining('cannot') as string;
      expect(site.logs.meter.partitions[0]).toMatchObject({ state: 'failed', lastError });
      site.simulator.key = 'test-key';
      site.write(ERRORS, 'after');
      await site.pull();
      expect(site.bodies).toContain('end');
      expect(site.logs.meter.partitions[0]).toMatchObject({ state: 'waiting', lastError: null });
    },
  );

  test('for a while, with an error, or in the middle, is asked again within the pull', async () => {
    await using site = await openSite();
    const busy = { status: 429, retryAfter: '1' };
    for (const fault of [{ status: 503 }, busy, { cut: 'length' }, { cut: 'chunked' }] as const) {
      site.write(ERRORS, JSON.stringify(fault));
      site.simulator.resetFaults();
      site.simulator.setFaults({ path: ARCHIVE, times: 2, ...fault });
      expect((await site.pull()).kind).toBe('done');
    }
    await site.pulls(3);
    expect(site.bodies.filter(body => body.startsWith('{'))).toHaveLength(4);
    // A try that comes a moment too early is held back, and counts as well.
    expect(site.count('errors_total', 'rate_limited')).toBeGreaterThanOrEqual(2);
    expect(site.gaps).toEqual([]);
  });

  test('never receives the key on another host', async () => {
    await using elsewhere = await startHttpServer((_, response) => void response.end('x'));
    await using site = await openSite();
    site.simulator.setFaults({ path: ARCHIVE, redirectTo: `${elsewhere.origin}/file` });
    expect(await site.pull()).toMatchObject({
      kind: 'unreachable',
      failure: { reason: 'redirect' },
    });
    expect(elsewhere.requests).toEqual([]);
    site.simulator.setFaults({ redirectTo: 'same-origin' });
    await site.pull();
    expect(site.bodies).toContain('one');
  });
});

test('archives for which a list has no room do not vanish, and are read later', async () => {
  await using site = await openSite({ types: ['error-log'] });
  const OLD_OTHER = '2026-03-03.ledger-0.error-log';
  site.writeOld(OTHER, 20 * HOUR, 'held', 'end');
  // Keeps yesterday open, for the other service only.
  site.simulator.setFaults({ archives: { [OLD_OTHER]: 403 } });
  await site.pulls(4);
  site.write(ERRORS, 'late');
  const logType = 'error-log';
  const item = { logType, serverDataSourceId: 'dbpgf1/orders-0', startTime: '2026-03-03' };
  const many = Array.from({ length: 100_000 }, (_, id) => ({ ...item, id: `many-${id}` }));
  using list = vi.spyOn(PulledApi.prototype, 'list');
  list.mockImplementation(async function (this: PulledApi, { fromMs, toMs }, type, take) {
    const query = { from: new Date(fromMs), to: new Date(toMs), type };
    const end = fromMs < NOW - DAY ? await take(many) : null;
    return end ?? (await listPages(this.api, query, take));
  });
  site.clock.forward(DAY);
  for (let i = 0; i < 4; i++)
    expect(await site.pull()).toMatchObject({
      failure: { reason: 'too_many', hint: expect.stringContaining('shards') },
    });
  list.mockRestore();
  site.simulator.resetFaults();
  site.clock.forward(HOUR);
  await site.pulls(4);
  expect(site.gaps).toEqual([]);
  expect(site.bodies).toEqual(expect.arrayContaining(['late', 'held']));
});

describe('a type that cannot be listed', () => {
  test.each([
    ['proxy-log', 400],
    ['error-log', 400],
    ['error-log', 403],
    ['proxy-log', 404],
    ['proxy-log', 500],
  ])('does not block the others, and is named: %s with %d', async (type, status) => {
    await using site = await LogSite.open({ logs: { schedule: '30s', first_start: '2d' } });
    site.simulator.setFaults({ listStatuses: { [type]: status } });
    for (const ageMs of [DAY, HOUR]) site.writeOld(AUDIT, ageMs, 'one', 'end');
    const failure = { message: expect.stringContaining(type) as string };
    expect(await site.pull()).toMatchObject({ kind: 'unreachable', failure });
    expect(site.bodies).toEqual(['one', 'one']);
    const others = site.logs.meter.partitions.filter(one => one.type !== type);
    expect(others.filter(({ state }) => state === 'failed')).toEqual([]);
    site.clock.forward(DAY);
    await site.pull();
    expect(site.gaps).toEqual([]);
  });

  test('does not use up the time of every pull', async () => {
    await using site = await openSite({ schedule: '30s' });
    site.simulator.setFaults({ listStatuses: { 'audit-log': 500 } });
    await site.pull();
    const startedMs = site.clock.nowMs();
    expect(await site.pull()).toMatchObject({ failure: { reason: 'server_error' } });
    expect(site.clock.nowMs() - startedMs).toBeLessThan(MINUTE / 4);
    site.simulator.resetFaults();
    expect((await site.pull()).kind).toBe('done');
  });

  test('for days that it is no longer kept for is listed from the first day that it is', async () => {
    await using world = new KeyWorld();
    const types = ['error-log', 'audit-log'];
    const logs = world.logs({ types, first_start: '20d' });
    const keptMs = world.clock.nowMs() - 7 * DAY;
    const listed = new Set<string>();
    world.decide = what => {
      const { fromDate = '', logType = '' } = queryOf(what);
      const isKept = logType === 'error-log' || Date.parse(fromDate) >= keptMs;
      if (isKept) listed.add(`${logType} ${fromDate.slice(0, 10)}`);
      return { ms: 1, status: isKept ? 200 : 400 };
    };
    await world.passes(logs.pull(world.stop.signal));
    const days = [6, 3, 1, 0].map(age => new Date(world.clock.nowMs() - age * DAY).toISOString());
    expect([...listed]).toEqual(
      expect.arrayContaining(days.map(day => `audit-log ${day.slice(0, 10)}`)),
    );
  });

  const [LONG, SHORT] = ['error-log', 'audit-log'];
  test.each([
    [[LONG, SHORT], 200],
    [[LONG, SHORT], 403],
    [[SHORT, LONG], 200],
    [[SHORT, LONG], 403],
  ])(
    'for days that it is no longer kept for costs no day of a type that is kept for longer: %j, %d',
    async (types, firstStatus) => {
      await using world = new KeyWorld();
      const logs = world.logs({ types, first_start: '40d' });
      const startMs = world.clock.nowMs();
      let longStatus = firstStatus;
      world.decide = what => {
        const { fromDate = '', logType = '' } = queryOf(what);
        const isLong = logType === LONG;
        const isKept = Date.parse(fromDate) >= startMs - (isLong ? 30 : 7) * DAY;
        const status = isLong && longStatus !== 200 ? longStatus : isKept ? 200 : 400;
        return { ms: 1, status };
      };
      for (let pull = 0; pull < 2; pull++) {
        await world.passes(logs.pull(world.stop.signal));
        longStatus = 200;
      }
      const gapEnds = world.batches.map(
        ({ payload }) => / to (\S+) may be missing/.exec(payload.toString('latin1'))?.[1],
      );
      const day = new Date(startMs - 29 * DAY).toISOString().slice(0, 10);
      const shortDay = new Date(startMs - 6 * DAY).toISOString().slice(0, 10);
      const ends = [day, shortDay].map(one => `${one}T00:00:00.000Z`);
      expect(new Set(gapEnds)).toEqual(new Set(ends));
      expect(gapEnds).toHaveLength(2);
    },
  );

  test('holds its days open for three days, so that it can come back without a loss', async () => {
    await using site = await openSite();
    site.write(AUDIT, 'audit');
    await site.pull();
    const fault = { listStatuses: { 'audit-log': 403 } };
    site.simulator.setFaults(fault);
    site.write(AUDIT, 'unseen', 'open');
    await site.pulls(2);
    site.clock.forward(3 * DAY);
    site.write(AUDIT, 'later', 'open');
    await site.pulls(6);
    expect(site.gaps).toEqual([]);
    site.simulator.resetFaults();
    await site.pulls(4);
    expect(site.bodies).toEqual(expect.arrayContaining(['audit', 'unseen', 'later']));
    expect(site.gaps).toEqual([]);
  });

  test('is skipped as a gap after that, for itself alone', async () => {
    await using site = await openSite();
    site.write(AUDIT, 'audit', 'open');
    await site.pull();
    site.simulator.setFaults({ listStatuses: { 'audit-log': 403 } });
    site.clock.forward(5 * DAY);
    site.write(ERRORS, 'later', 'end');
    await site.pulls(8);
    expect(site.bodies).toContain('later');
    // The days are old, but the failure is new.
    expect(site.gaps).toEqual([]);
    site.clock.forward(3 * DAY);
    await site.restart();
    await site.pulls(4);
    const gap = {
      type: 'audit-log',
      reason: 'unlisted',
      from: expect.stringContaining('2026-03-04T09:') as string,
      to: '2026-03-09T00:00:00.000Z',
    };
    const ofAudit = site.gaps.filter(({ type }) => type === 'audit-log');
    expect(ofAudit).toMatchObject([
      { service: 'dbpgf1', ...gap },
      { service: 'dbpgf2', ...gap },
    ]);
    // The last record of the audit log was read, but held back.
    expect(site.bodies).toContain('open');
  });
});

test('a type that is no longer configured makes no gap, and comes back without a loss', async () => {
  await using site = await openSite({ types: ['error-log', 'audit-log'] });
  site.write(AUDIT, 'audit', 'open');
  await site.pulls(2);
  await site.restart({ types: ['error-log'] });
  await site.pulls(3);
  await site.restart();
  site.write(AUDIT, 'more', 'end');
  await site.pulls(2);
  expect(site.bodies).toContain('more');
  await site.restart({ types: ['error-log'] });
  await site.pulls(3);
  site.clock.forward(2 * DAY);
  await site.pulls(3);
  expect(site.gaps.map(({ body }) => body)).toEqual([]);
});

describe('a list', () => {
  test('that changes while it is read loses nothing', async () => {
    await using site = await LogSite.open({
      logs: { first_start: '4d', endpoints: { page_size: 2 } },
    });
    const places = [ERRORS, AUDIT, OTHER];
    for (let day = 3; day >= 0; day--)
      for (const place of places) site.writeOld(place, day * DAY, `day ${day}`);
    let lists = 0;
    site.book.onList = () => {
      if (++lists % 3 !== 0 || lists > 30) return;
      site.book.write(ERRORS, { text: `in between ${lists}`, atMs: NOW - MINUTE });
      site.book.write({ ...OTHER, type: 'audit-log' }, { text: `new ${lists}`, atMs: NOW - DAY });
    };
    site.simulator.setFaults({ isCountUnsteady: true });
    await site.pulls(6);
    const lines = site.bodies.flatMap(body => body.split('\n'));
    expect([...lines].sort()).toEqual(site.written.toSorted());
  });

  test('that ignores the parameters is checked line by line', async () => {
    await using site = await LogSite.open({ logs: { types: ['error-log'] } });
    site.simulator.setFaults({ ignoredParameters: ['logType', 'fromDate', 'toDate', 'orderBy'] });
    site.write(ERRORS, 'one', 'end');
    site.write(AUDIT, 'not wanted', 'end');
    await site.pull();
    expect(site.bodies).toEqual(['one']);
    expect(site.count('refused_items_total', 'type')).toBeGreaterThan(0);
  });
});

test('a day that cannot be listed is skipped as a gap after three days, and its archives are forgotten', async () => {
  await using site = await openSite();
  await site.pull();
  site.simulator.setFaults({ poisonMs: NOW - HOUR });
  site.clock.forward(2 * DAY);
  site.write(ERRORS, 'later', 'end');
  await site.pulls(8);
  expect(site.bodies).toContain('later');
  expect(site.gaps).toEqual([]);
  site.clock.forward(3 * DAY);
  await site.restart();
  await site.pulls(2);
  const to = '2026-03-05T00:00:00.000Z';
  const gap = { reason: 'unlisted', from: expect.stringContaining('2026-03-04T09:') as string, to };
  expect(site.gaps.toSorted((a, b) => (a.service < b.service ? -1 : 1))).toMatchObject([
    { service: 'dbpgf1', ...gap },
    { service: 'dbpgf2', ...gap },
  ]);
});

test('a day that the service fails to list for days holds up no other, and is skipped after three', async () => {
  const options = { types: ['error-log'], first_start: '3d' };
  await using site = await openSite({ schedule: '30s', ...options });
  for (const days of [2.5, 1]) site.writeOld(ERRORS, days * DAY, `day ${days}`, 'end');
  site.simulator.setFaults({ poisonMs: NOW - 2 * DAY, poisonStatus: 500 });
  await site.pull();
  expect(site.bodies).toEqual(expect.arrayContaining(['day 2.5', 'day 1', 'one']));
  await site.pull();
  site.clock.forward(2.5 * DAY);
  site.write(ERRORS, 'later', 'end');
  await site.pull();
  expect(site.bodies).toContain('later');
  expect(site.gaps).toEqual([]);
  site.clock.forward(DAY);
  await site.pulls(2);
  const from = '2026-03-02T00:00:00.000Z';
  expect(site.gaps).toMatchObject([{ from }, { from }]);
});

test('a day that cannot be listed now and then is not skipped', async () => {
  await using site = await openSite();
  await site.pull();
  const poison = { poisonMs: NOW - HOUR };
  for (let i = 0; i < 4; i++) {
    site.simulator.setFaults(poison);
    expect(await site.pull()).toMatchObject({
      kind: 'unreachable',
      failure: { reason: 'same_page' },
    });
    site.simulator.resetFaults();
    await site.pulls(2);
  }
  site.write(ERRORS, 'unread');
  site.clock.forward(1.5 * DAY);
  site.simulator.setFaults(poison);
  await site.pull();
  expect(site.gaps).toEqual([]);
  site.simulator.resetFaults();
  await site.pulls(3);
  expect(site.bodies).toContain('unread');
});

test('a service that does not answer has listed nothing', async () => {
  await using site = await LogSite.open({
    api: { timeout: '2s' },
    logs: { schedule: '30s', types: ['error-log'] },
  });
  site.write(ERRORS, 'one', 'end');
  await site.pull();
  const doneUntilMs = (): unknown => site.logs.meter.partitions[0]?.doneUntilMs;
  const doneMs = doneUntilMs();
  site.clock.forward(10 * MINUTE);
  site.simulator.setFaults({ path: LOGS, isSilent: true });
  const end = await site.pull();
  expect(end).toMatchObject({ kind: 'unreachable', failure: { reason: 'timeout' } });
  expect(doneUntilMs()).toBe(doneMs);
});

test('a pull that finds nothing new stores only the cursors', async () => {
  await using site = await openSite();
  await site.pulls(5);
  const commit = vi.spyOn(site.queue, 'commit');
  await site.pull();
  const keys = commit.mock.calls.flatMap(([{ state }]) => state.map(({ key }) => key));
  expect(keys.sort()).toEqual(['service/dbpgf1', 'service/dbpgf2']);
});

test.each([-26 * HOUR, 26 * HOUR])(
  'a clock that is wrong by %d ms does not matter: the days are those of the service',
  async skewMs => {
    await using site = await LogSite.open({ logs: { first_start: '1h' } });
    site.simulator.setFaults({ clockSkewMs: skewMs });
    await site.pulls(6, 4 * HOUR, number =>
      site.writeOld(ERRORS, MINUTE - skewMs, `line ${number}`),
    );
    await site.pulls(3);
    expect(site.bodies).toEqual(site.written);
    expect(site.gaps).toEqual([]);
  },
);

test.each([5 * MINUTE, HOUR])(
  'a clock of the service that is three days ahead for six times %d ms closes no day',
  async intervalMs => {
    await using site = await LogSite.open({ logs: { first_start: '3h' } });
    for (let i = 0; i < 12; i++) {
      const isAhead = i >= 3 && i < 9;
      site.simulator.setFaults({ clockSkewMs: isAhead ? 3 * DAY : 0 });
      if (!isAhead) site.write(ERRORS, `line ${i}`);
      site.clock.forward(intervalMs);
      await site.pull();
    }
    await site.pulls(3);
    expect(site.bodies).toEqual(site.written);
    expect(site.gaps).toEqual([]);
  },
);

test.each([
  ['a type that is refused', { listStatuses: { 'error-log': 403 } }],
  ['an archive that is refused', { archives: { [ERRORS_ID]: 403 } }],
])(
  '%s for 32 hours is not given up by a clock of the service that is days ahead',
  async (_, faults) => {
    await using site = await LogSite.open({ logs: { types: ['error-log', 'audit-log'] } });
    site.write(ERRORS, 'one', 'end');
    site.write(AUDIT, 'one', 'end');
    await site.pulls(3);
    for (let hour = 1; hour <= 40; hour++) {
      const isAhead = hour >= 26 && hour < 32;
      site.simulator.setFaults({
        ...(hour >= 2 && hour < 34 ? faults : { listStatuses: {}, archives: {} }),
        clockSkewMs: isAhead ? 4 * DAY : 0,
      });
      if (hour < 10) site.write(ERRORS, `line ${hour}`, 'end');
      site.write(AUDIT, `line ${hour}`, 'end');
      site.clock.forward(HOUR);
      await site.pull();
    }
    await site.pulls(4);
    expect(site.gaps).toEqual([]);
    expect(new Set(site.bodies)).toEqual(new Set(site.written));
  },
);

describe('room in the queue', () => {
  test('logs that cannot be stored say so, until they are stored', async () => {
    await using site = await openSite();
    const commit = vi
      .spyOn(site.queue, 'commit')
      .mockResolvedValue({ kind: 'failed', message: 'the disk is full' });
    expect((await site.pull()).kind).toBe('failed');
    const lastError = 'its lines wait: the file of the queue cannot be written';
    expect(site.logs.meter.partitions).toContainEqual(
      expect.objectContaining({ state: 'failed', lastError }),
    );
    commit.mockRestore();
    await site.pulls(2);
    for (const one of site.logs.meter.partitions)
      expect(one).toMatchObject({ state: 'waiting', lastError: null });
    expect(site.bodies).toContain('one');
  });

  /** Writes incompressible lines, so that the queue has room for one chunk of them. */
  const fill = (site: LogSite): void => {
    for (let i = 0; i < 2200; i++) site.write(ERRORS, `${i} ${randomBytes(40).toString('hex')}`);
  };

  /** Drains the queue until the result is disposed. */
  const draining = (site: LogSite): Disposable => {
    const timer = setInterval(() => void site.drain(), 20);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  };
  const untilFull = (site: LogSite): Promise<unknown> =>
    until('the queue is full', () => site.count('queue_full_state') === 1);

  test('that runs out stops the pulling, and nothing is lost or sent twice', async () => {
    await using site = await LogSite.open({ queueBytes: '60kB' });
    fill(site);
    const pulling = site.pull();
    await untilFull(site);
    expect(site.queue.stats('logs').bytes).toBeLessThanOrEqual(60_000);
    using _ = draining(site);
    expect((await pulling).kind).toBe('done');
    await site.pulls(3);
    expect(site.bodies).toEqual(site.written);
    expect(site.count('queue_full_state')).toBe(0);
  });

  test('that does not come before the pull stops: the next pull or start continues', async () => {
    await using site = await LogSite.open({ queueBytes: '60kB' });
    fill(site);
    for (let start = 0; start < 2; start++) {
      const stop = new AbortController();
      const pulling = site.pull(stop.signal);
      await untilFull(site);
      stop.abort();
      expect((await pulling).kind).toBe('stopped');
      if (start === 0) await site.restart();
    }
    using _ = draining(site);
    await site.pulls(3);
    expect(site.bodies).toEqual(site.written);
  });
});

test('the download limit per hour stretches the interval, and shows as lag', async () => {
  await using site = await LogSite.open({ logs: { limits: { download_per_hour: '1kB' } } });
  const rows = Array.from({ length: 400 }, (_, i) => `line ${i * 7919}`);
  site.write(ERRORS, ...rows);
  site.write(OTHER, ...rows);
  expect((await site.pull()).kind).toBe('done');
  expect(site.count('archives_total', 'postponed')).toBe(1);
  // What was never read counts from the beginning of its day.
  const lags = site.counters.list().find(({ name }) => name === 'prom2otlp_logs_lag_seconds');
  const behind = lags?.series.filter(({ value }) => value > 8 * 3600);
  expect(behind).toHaveLength(1);
  site.clock.forward(HOUR);
  site.simulator.setFaults({ clockSkewMs: 0 });
  await site.pull();
  expect(site.count('lag_seconds', 'dbpgf2', 'error-log')).toBeGreaterThanOrEqual(0);
  for (let i = 0; i < 60 && site.bodies.length < 798; i++) {
    site.clock.forward(HOUR);
    await site.pull();
  }
  expect(site.bodies.filter(body => body === 'line 0')).toHaveLength(2);
});
