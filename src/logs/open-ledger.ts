// Begins the work on one API: learns the service's time, since a first start begins by it and not by ours, reads what
// is stored, and finds where logs begin where everything is wanted.

import { ask } from './ask.ts';
import { isCurrent } from './archive-state.ts';
import { firstStartGap } from './gap.ts';
import { Ledger } from './ledger.ts';
import type { PullContext, PullRun } from './pull-context.ts';
import type { PullEnd } from './pull-end.ts';
import { findFirstDay } from './retention.ts';
import { DAY_MS, firstLowMs } from './windows.ts';

/** The ledger, or how the pull ends without it. */
export async function openLedger(context: PullContext, run: PullRun): Promise<Ledger | PullEnd> {
  const { config, queue, services, meter } = context.options;
  const end = context.skewMs === null ? await learnTime(context, run) : null;
  if (end !== null) return end;
  const firstMs = firstLowMs(config.firstStart, context.serverNowMs());
  const ledger = await Ledger.load(queue, services, firstMs);
  const isFromBeginning = services.some(({ id }) => ledger.days(id).floorMs === 0);
  if (isFromBeginning) {
    const firstDayMs = await findFirstDay(context, run);
    if (firstDayMs === null) return beginningNotFound(run);
    // From here on they have a floor, and the beginning is not looked for again.
    for (const { id } of services.filter(({ id }) => ledger.days(id).floorMs === 0))
      ledger.setDays(id, { floorMs: 1, openDayMs: firstDayMs, listedMs: null });
  }
  if (context.options.isSharded && firstMs > 0 && ledger.fresh.length > 0) {
    const gaps = ledger.fresh.map(service => firstStartGap(service, '', firstMs));
    const changes = ledger.allChanges();
    const result = await context.storeGaps(gaps, changes, run.signal);
    if (result !== 'stored') return { kind: result };
    ledger.stored(changes);
  }
  for (const { partition, archives } of ledger.partitions()) {
    const isBehind = [...archives.values()].some(state => !isCurrent(state));
    const { listedMs } = ledger.days(partition.service.id);
    meter.status(partition).doneUntilMs = isBehind ? null : listedMs;
  }
  return ledger;
}

/** Any answer to a list tells the time; null when it was good. */
export async function learnTime(context: PullContext, run: PullRun): Promise<PullEnd | null> {
  const { api, config } = context.options;
  const nowMs = context.serverNowMs();
  const query = { fromMs: nowMs - DAY_MS, toMs: nowMs, type: config.types[0] ?? null };
  const answer = await ask(() => api.list(query, 0, { signal: run.signal }), context.ask(run));
  if (run.signal.aborted) return { kind: 'stopped' };
  if (!answer.ok) return { kind: 'unreachable', failure: answer.failure };
  const date = answer.headers['date'];
  const serverNowMs = Date.parse(typeof date === 'string' ? date : '');
  context.noteServerTime(Number.isNaN(serverNowMs) ? null : serverNowMs);
  return null;
}

function beginningNotFound(run: PullRun): PullEnd {
  if (run.signal.aborted) return { kind: 'stopped' };
  const message = 'cannot find where the logs of the service begin';
  const hint = 'set logs.first_start to a date or a duration';
  return { kind: 'unreachable', failure: { reason: 'no_list', message, hint } };
}
