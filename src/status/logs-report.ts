// What /status.json says of the log puller.

import type { Logs } from '../logs/logs.ts';
import type { LogsReport } from './status-report.ts';

/** null where no logs are pulled. */
export function logsReport(logs: Logs | null): LogsReport | null {
  if (logs === null) return null;
  const { partitions, progress, givenUp, nextPullAtMs } = logs;
  return {
    partitions: partitions.map(status => ({
      service: status.service,
      source: status.source,
      type: status.type,
      state: status.state,
      doneUntil: instantOf(status.doneUntilMs),
      recordCount: status.recordCount,
      gapCount: status.gapCount,
      lastError: status.lastError,
    })),
    catchUp: progress.filter(({ dueCount }) => dueCount > 0).map(one => ({ ...one })),
    givenUp: givenUp.map(({ atMs, ...one }) => ({ ...one, at: new Date(atMs).toISOString() })),
    nextPullAt: instantOf(nextPullAtMs),
  };
}

function instantOf(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString();
}
