// The page with the cost of the telemetry shows the figures of the report, in the design of the first page.

import { expect, test } from 'vitest';
import { renderCostPage } from '../../src/status/cost-page.ts';
import type { CostReport, NamedCost } from '../../src/status/cost-report.ts';
import { withProblems } from '../../src/status/status-report.ts';
import { sampleReport, textOf } from './sample-report.ts';

const costOf = (name: string, series: number): NamedCost => ({
  name,
  series,
  activeSeries: series * 2,
  pointsPerMinute: series,
  pointsPerDay: series * 1440,
  bytesPerDay: series * 1440 * 100,
  compressedBytesPerDay: series * 1440 * 10,
});

const REPORT: CostReport = {
  source: 'daemon',
  intervalMs: 60_000,
  compression: 'gzip',
  bytesPerPoint: 100,
  compressedBytesPerPoint: 10,
  total: costOf('', 1000),
  services: [costOf('dbpgf1', 700), costOf('dbpgf2', 300)],
  families: [costOf('engine', 1000)],
  metrics: [costOf('engine_<b>', 400)],
  excludes: [costOf('engine_.*', 400)],
  logs: null,
};

const pageOf = (report: CostReport): string => renderCostPage(withProblems(sampleReport()), report);

test('shows each list with its sums, and escapes names', () => {
  const page = pageOf(REPORT);
  const text = textOf(page);
  expect(text).toContain('a point is 100.0 bytes, 10.0 with compression gzip');
  expect(text).toMatch(/\(all\) +1,000 +2,000 +1,000 +1,440,000/);
  expect(text).toMatch(/dbpgf1 +700 +1,400/);
  expect(page).toContain('engine_&lt;b&gt;');
  expect(text).toMatch(/metrics\.exclude alone .*engine_\.\* +400/);
  expect(text).not.toContain('Cost of logs');
});

test('shows what logs cost, where they are pulled', () => {
  const services = [{ name: 'dbpgf1', recordsPerDay: 5000 }];
  const logs = { recordsPerDay: 5000, compressedBytesPerDay: 2048, services };
  expect(textOf(pageOf({ ...REPORT, logs }))).toContain('5,000 records and 2.0 KiB sent a day');
});
