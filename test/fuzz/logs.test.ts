// Whatever happens to the logs of a service, every written line arrives at least once, byte for byte, or a gap names the
// archive that could not be read. No other line arrives, and none arrives twice without a reason.
import { assert, asyncProperty } from 'fast-check';
import { expect, test } from 'vitest';
import { countLines } from '../support/log-book.ts';
import { DAY, HOUR, LogSite, MINUTE } from '../support/log-site.ts';
import { LogHistory, type LogLife, logLives } from './log-actions.ts';
import { parametersFor, RUNS } from './parameters.ts';

const PARAMETERS = parametersFor(Math.max(5, Math.round(RUNS / 20)));

/** The times after the last pulls: enough for five tries in an hour, for held-back records, and to close every day. */
const LAST_PULLS = [...Array.from({ length: 6 }, () => 30 * MINUTE), DAY, HOUR, HOUR, HOUR];

async function live(life: LogLife): Promise<void> {
  await using site = await LogSite.open();
  const history = new LogHistory(site, life);
  // After this first pull, every line must arrive.
  await site.pull();
  for (const action of life.actions) await history.act(action);
  history.mend();
  for (const ms of LAST_PULLS) {
    await site.pull();
    site.clock.forward(ms);
  }
  judge(site, history);
}

function judge(site: LogSite, history: LogHistory): void {
  const gaps = new Set(site.gaps.map(({ attributes }) => attributes['prom2otlp.gap.archive']));
  expect([...gaps].filter(archive => !history.broken.has(archive ?? ''))).toEqual([]);
  const arrived = countLines(site.bodies.flatMap(body => body.split('\n')));
  const issued = new Set(site.book.issued.map(({ text }) => text));
  const missing = site.book.issued.filter(({ text, archive }) => {
    return !arrived.has(text) && !gaps.has(archive);
  });
  expect(missing).toEqual([]);
  expect([...arrived.keys()].filter(line => !issued.has(line))).toEqual([]);
  const isOnce = !history.isRewritten && history.broken.size === 0;
  if (isOnce) expect([...arrived].filter(([, count]) => count > 1)).toEqual([]);
}

test(`no line is lost in ${RUNS} random histories`, async () => {
  await assert(asyncProperty(logLives, live), PARAMETERS);
});
