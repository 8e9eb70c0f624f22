// What the service has deleted before it was read is reported as a gap, once.

import { describe, expect, test, vi } from 'vitest';
import { DAY, ERRORS, HOUR, LogSite, MINUTE, OTHER } from '../support/log-site.ts';

const ERRORS_ID = '2026-03-04.orders-0.error-log';

/** Two archives. */
async function openSite(logs: object = {}): Promise<LogSite> {
  const site = await LogSite.open({ logs });
  site.write(ERRORS, 'one', 'two', 'end');
  site.write(OTHER, 'other', 'end');
  return site;
}

describe('missing logs', () => {
  /** A site whose last pull was 20 days ago; `back` has the lines of today. */
  async function openLate(...back: readonly string[]): Promise<LogSite> {
    const site = await openSite({ schedule: '30s' });
    await site.pull();
    site.clock.forward(20 * DAY);
    site.write(ERRORS, ...back);
    return site;
  }
  const retentionGaps = ({ gaps }: LogSite) => gaps.filter(({ reason }) => reason === 'retention');

  test('that vanished before reading are a gap from where reading stopped', async () => {
    await using site = await openSite();
    await site.pull();
    site.clock.forward(2 * HOUR);
    site.write(ERRORS, 'never seen');
    site.clock.forward(20 * HOUR);
    site.book.remove(ERRORS_ID);
    site.write(ERRORS, 'back', 'end');
    await site.pulls(5);
    expect(site.bodies).toContain('back');
    const spans = site.gaps.map(({ reason, from, to }) => [
      reason,
      from?.slice(0, 13),
      to?.slice(0, 13),
    ]);
    expect(spans).toContainEqual(['vanished', '2026-03-04T09', '2026-03-05T00']);
  });

  test('are one gap, also if several days close at once', async () => {
    await using site = await openSite();
    await site.pull();
    site.book.remove(ERRORS_ID);
    site.clock.forward(4 * DAY);
    await site.pulls(4);
    expect(site.gaps.filter(({ archive }) => archive === ERRORS_ID)).toHaveLength(1);
  });

  test.each([
    ['returns nothing', null, '2026-03-24T00:00'],
    ['refuses', Date.UTC(2026, 2, 17), '2026-03-17T00:00'],
  ])('below the retention are a gap if the service %s', async (_, oldestMs, to) => {
    await using site = await openLate('back', 'end');
    site.simulator.setFaults({ oldestMs });
    expect((await site.pull()).kind).toBe('done');
    expect(site.bodies).toContain('back');
    await site.pulls(3);
    const [gap] = retentionGaps(site);
    // Everything before was read.
    expect(gap?.from).toContain('2026-03-04T09:0');
    expect(gap?.to).toContain(to);
  });

  test('below the retention are a gap, also while a later day cannot be listed', async () => {
    await using site = await openLate();
    site.writeOld(ERRORS, DAY, 'back', 'end');
    const fault = { poisonMs: site.clock.nowMs() - HOUR, poisonStatus: 500 };
    site.simulator.setFaults(fault);
    await site.pulls(2);
    site.simulator.resetFaults();
    await site.pulls(2);
    expect(site.bodies).toContain('back');
    const [gap, ...others] = retentionGaps(site);
    expect(gap?.from).toContain('2026-03-04T09:0');
    expect(gap?.to).toContain('2026-03-23T00:00');
    expect(others).toEqual([]);
  });

  test('of an archive that vanishes are part of the gap below the retention', async () => {
    await using site = await openLate('back', 'end');
    site.book.remove(ERRORS_ID);
    await site.pulls(5);
    const ofErrors = site.gaps.filter(({ service }) => service === ERRORS.serviceId);
    expect(ofErrors).toMatchObject([{ reason: 'retention' }]);
  });

  test('of an archive that vanished long before the gap below the retention are a gap too', async () => {
    await using site = await openSite();
    await site.pull();
    site.clock.forward(MINUTE);
    site.write(ERRORS, 'never seen', 'end');
    site.book.remove(ERRORS_ID);
    await site.pulls(3, HOUR);
    site.clock.forward(20 * DAY);
    site.write(ERRORS, 'back', 'end');
    await site.pulls(5);
    const [vanished] = site.gaps.filter(({ archive }) => archive === ERRORS_ID);
    expect(vanished?.from).toContain('2026-03-04T09:0');
    expect(retentionGaps(site)).not.toEqual([]);
  });

  test('below the retention do not include a record that was read before', async () => {
    await using site = await openLate();
    site.simulator.setFaults({ oldestMs: Date.UTC(2026, 2, 17) });
    await site.pulls(5);
    // The end of the record was never seen.
    expect(site.bodies).toEqual(expect.arrayContaining(['one', 'two', 'end']));
  });

  test('of an unread archive are one gap below the retention of a service that refuses', async () => {
    await using site = await openSite();
    await site.pull();
    site.write(ERRORS, 'unread', 'end');
    site.simulator.setFaults({ archives: { [ERRORS_ID]: 'cut' } });
    await site.pull();
    site.clock.forward(20 * DAY);
    site.simulator.setFaults({ oldestMs: Date.UTC(2026, 2, 17) });
    await site.pulls(5);
    expect(new Set(site.gaps.map(({ reason }) => reason))).toEqual(new Set(['retention']));
    const ofErrors = site.gaps.filter(one => one.service === 'dbpgf1' && one.type === 'error-log');
    expect(ofErrors).toMatchObject([{ from: '2026-03-04T00:00:00.000Z' }]);
  });

  test('below the retention are one gap, also if the pull is stopped right after it', async () => {
    await using site = await openLate('back', 'end');
    const stop = new AbortController();
    const commit = site.queue.commit.bind(site.queue);
    vi.spyOn(site.queue, 'commit').mockImplementationOnce(async what => {
      const outcome = await commit(what);
      stop.abort();
      return outcome;
    });
    expect((await site.pull(stop.signal)).kind).toBe('stopped');
    await site.restart();
    await site.pulls(2);
    expect(retentionGaps(site)).toHaveLength(1);
  });

  test('below the retention of a service that refuses hold no later day open', async () => {
    await using site = await openLate();
    for (const day of [17, 18, 19]) {
      site.simulator.setFaults({ oldestMs: Date.UTC(2026, 2, day) });
      await site.pulls(4);
      site.clock.forward(DAY);
    }
    expect(site.gaps.map(({ service }) => service)).toEqual(['dbpgf1', 'dbpgf2']);
  });
});
