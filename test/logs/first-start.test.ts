// A service that is new to a shard: the time before `logs.first_start` is reported as a gap, once.

import { describe, expect, test } from 'vitest';
import { shardOf } from '../../src/lib/shard.ts';
import { ERRORS, HOUR, LogSite, NOW, type SiteOptions } from '../support/log-site.ts';

const LINES = '/observability/v2/logs/lines';
/** The shard that has only the service of ERRORS. */
const SHARD = { index: shardOf('dbpgf1', 2), count: 2 };
const SHAPES = {
  archives: {},
  records: { shape: 'records', types: ['error-log'], endpoints: { list: LINES } },
};

function open(logs: object, options: SiteOptions = {}): Promise<LogSite> {
  const site = { services: ['dbpgf1'], shard: SHARD, ...options };
  return LogSite.open({ ...site, logs: { first_start: '2h', ...logs } });
}

describe.each(Object.entries(SHAPES))('%s', (shape, logs) => {
  test('begin with a gap, once, for a service that is new to the shard', async () => {
    await using site = await open(logs);
    site.book.write(ERRORS, { text: 'old', atMs: NOW - 3 * HOUR });
    site.book.write(ERRORS, { text: 'young', atMs: NOW - HOUR });
    await site.pulls(2);
    const type = shape === 'records' ? 'error-log' : '';
    expect(site.count('gaps_total', 'dbpgf1', type, 'first_start')).toBe(1);
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

  test('have no such gap without shards, or if everything is read', async () => {
    await using alone = await open(logs, { shard: { index: 0, count: 1 } });
    await alone.pulls(1);
    expect(alone.gaps).toEqual([]);
    await using whole = await open({ ...logs, first_start: 'beginning' });
    await whole.pulls(1);
    expect(whole.gaps).toEqual([]);
  });
});
