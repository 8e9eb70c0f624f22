// Whatever happens to the logs of a service: every line that was written arrives at least once, byte for byte, or a
// gap says which archive could not be had; nothing arrives that was not written, and nothing twice without a reason.
import { assert, asyncProperty } from 'fast-check';
import { expect, test } from 'vitest';
import { countLines } from '../support/log-book.ts';
import { DAY, HOUR, LogSite, MINUTE } from '../support/log-site.ts';
import { LogHistory, type LogLife, logLives } from './log-actions.ts';
import { parametersFor, RUNS } from './parameters.ts';

const PARAMETERS = parametersFor(Math.max(5, Math.round(RUNS / 20)));

/** Enough for five tries in an hour, for what is held back, and for every day to be closed. */
const LAST_PULLS = [...Array.from({ length: 6 }, () => 30 * MINUTE), DAY, HOUR, HOUR, HOUR];

async function live(life: LogLife): Promise<void> {
  await using site = await LogSite.open();
  const history = new LogHistory(site, life);
  // From here on everything is wanted.
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
