// What /status.json says of the log puller.

import type { Logs } from '../logs/logs.ts';
import type { LogsReport } from './status-report.ts';

/** null where no logs are pulled. */
export function logsReport(logs: Logs | null): LogsReport | null {
  if (logs === null) return null;
  const { partitions, nextPullAtMs } = logs;
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
    nextPullAt: instantOf(nextPullAtMs),
  };
}

function instantOf(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString();
}
