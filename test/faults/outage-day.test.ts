// An outage of a day: 10 services with 1,000 series each, polled once a minute, on a clock that runs fast. Afterwards,
// all points arrive, whole, in order and with their own times, while scraping continues; memory does not grow much. The
// full size is OUTAGE_POLLS=1440; the figures of docs/how-it-works/delivery.md were measured with it.

import { expect, test } from 'vitest';
import { formatBytes } from '../../src/lib/format.ts';
import { liveThroughOutage, type Phase } from './support/day.ts';
import { expectBalance, NO_FIGURES, report } from './support/figures.ts';

const FULL_POLLS = 1440;
const POLLS = Number(process.env['OUTAGE_POLLS'] ?? 60);
/** Memory is checked only at the full size, where it has time to settle. */
const IS_FULL = POLLS >= FULL_POLLS;
const USUAL_POLLS = IS_FULL ? 240 : 20;
const RSS_FACTOR_MAX = 1.5;
const PAGE_POINTS = 10_000;

test('a back end gets everything after a day of outage', async () => {
  const day = await liveThroughOutage({
    services: 10,
    series: 1000,
    usualPolls: USUAL_POLLS,
    outagePolls: POLLS,
  });
  const { usual, outage, drain, queued, findings, account } = day;
  const { missing, wrong, duplicates, outOfOrder, movedStarts, failedPages, examples } = findings;
  report({
    ...NO_FIGURES,
    name: 'outage of a day',
    points: findings.received,
    lost: missing,
    wrong,
    duplicates,
    movedStarts,
    outOfOrder,
    failedPages,
  });
  console.log(
    [
      `outage: ${POLLS} polls of 10 services x 1,000 series; each point in the queue took ${(queued.bytes / queued.points).toFixed(2)} bytes`,
      `queued ${queued.rows} requests, ${queued.points} points, ${formatBytes(queued.bytes)}`,
      `drained in ${drain.seconds.toFixed(1)} s by ${day.drainRequests} requests, ${formatBytes(day.drainBytes)}, during ${drain.polls} polls`,
      `memory: usual ${told(usual)}, outage ${told(outage)}, drain ${told(drain)}`,
    ].join('\n        '),
  );
  expect(findings, examples.join('\n')).toMatchObject({
    missing: 0,
    wrong: 0,
    duplicates: 0,
    outOfOrder: 0,
    movedStarts: 0,
  });
  expectBalance(account, findings.received);
  expect(account).toMatchObject({ rejected: 0, setAside: 0, evicted: 0, queued: 0 });
  // Each poll is a row, except for the last polls, which may be on their way.
  expect(queued.rows).toBeGreaterThan(0.9 * POLLS);
  // A minute is only a quarter of a second, so scrapes fail on a busy machine. But most pages must have been read.
  expect(queued.points).toBeGreaterThan(PAGE_POINTS * (IS_FULL ? POLLS / 2 : 1));
  if (IS_FULL)
    expect(Math.max(outage.rssBytes, drain.rssBytes)).toBeLessThanOrEqual(
      RSS_FACTOR_MAX * usual.rssBytes,
    );
}, 3_600_000);

function told({ rssBytes, polls, seconds }: Phase): string {
  return `${formatBytes(rssBytes)} (${polls} polls, ${seconds.toFixed(0)} s)`;
}
