// A report of a pull, for tests that need one or that test the report alone.

import type { Clock } from '../../src/lib/clock.ts';
import { AFTER_REFUSAL } from '../../src/lib/hold-off.ts';
import type { KeyHold } from '../../src/service/key-hold.ts';
import { PullReport, type PullReportOptions } from '../../src/service/pull-report.ts';

export function testReport(
  clock: Clock,
  changes: Partial<PullReportOptions> = {},
  key: KeyHold | null = null,
): PullReport {
  const options: PullReportOptions = {
    kind: 'metrics',
    id: 'id',
    target: 'api.example.com (orders)',
    services: [{ id: 'dbpgf1', name: 'orders' }],
    client: { host: 'api.example.com', isKeyNew: () => false },
    clock,
    holdOff: AFTER_REFUSAL,
    intervalMs: 60_000,
    ...changes,
  };
  return new PullReport(options, key);
}
