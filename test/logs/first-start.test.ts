// A service that is new to a shard: the time before `logs.first_start` is reported as a gap, once.

import { expect, test } from 'vitest';
import { shardOf } from '../../src/lib/shard.ts';
import { ERRORS, HOUR, LogSite, NOW, type SiteOptions } from '../support/log-site.ts';

/** The shard that has only the service of ERRORS. */
const SHARD = { index: shardOf('dbpgf1', 2), count: 2 };
function open(logs: object = {}, options: SiteOptions = {}): Promise<LogSite> {
  const site = { services: ['dbpgf1'], shard: SHARD, ...options };
  return LogSite.open({ ...site, logs: { first_start: '2h', ...logs } });
}

test('a service that is new to the shard begins with a gap, once', async () => {
  await using site = await open();
  site.book.write(ERRORS, { text: 'old', atMs: NOW - 3 * HOUR });
  site.book.write(ERRORS, { text: 'young', atMs: NOW - HOUR });
  await site.pulls(2);
  expect(site.count('gaps_total', 'dbpgf1', '', 'first_start')).toBe(1);
  await site.restart();
  await site.pulls(2);
  expect(site.bodies).toEqual(['young']);
  expect(site.gaps).toHaveLength(1);
  const [gap] = site.gaps;
  const to = gap?.attributes['prom2otlp.gap.to'] ?? '';
  expect(gap).toMatchObject({ service: 'dbpgf1', severity: 'WARN' });
  expect(gap?.timeUnixNano).toBe(BigInt(Date.parse(to)) * 1_000_000n);
  expect(gap?.body).toContain(`up to ${to} may be missing`);
  expect(gap?.attributes).toMatchObject({ 'prom2otlp.gap.reason': 'first_start' });
  expect(gap?.attributes).not.toHaveProperty('prom2otlp.gap.from');
  expect(Math.abs(Date.parse(to) - (NOW - 2 * HOUR))).toBeLessThan(60_000);
});

test('there is no such gap without shards, or if everything is read', async () => {
  await using alone = await open({}, { shard: { index: 0, count: 1 } });
  await alone.pulls(1);
  expect(alone.gaps).toEqual([]);
  await using whole = await open({ first_start: 'beginning' });
  await whole.pulls(1);
  expect(whole.gaps).toEqual([]);
});
