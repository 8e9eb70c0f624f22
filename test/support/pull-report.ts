// A report of a pull, for tests that need one or that test the report alone.

import type { Clock } from '../../src/lib/clock.ts';
import { AFTER_REFUSAL } from '../../src/lib/hold-off.ts';
import {
  type KeyWatch,
  PullReport,
  type PullReportOptions,
} from '../../src/service/pull-report.ts';

export function testReport(
  clock: Clock,
  changes: Partial<PullReportOptions> = {},
  watch: KeyWatch | null = null,
  former?: PullReport,
): PullReport {
  const options: PullReportOptions = {
    kind: 'metrics',
    id: 'id',
    target: 'api.example.com (orders)',
    services: [{ id: 'dbpgf1', name: 'orders' }],
    client: { host: 'api.example.com', isKeyNew: () => false },
    clock,
    holdOff: AFTER_REFUSAL,
    probe: () => Promise.resolve({ ok: true }),
    ...changes,
  };
  return new PullReport(options, watch, former);
}
