// What docs/delivery.md says in numbers: its defaults are those of the program, its table follows from its formula, and
// the settings that it shows are those that the tests with real servers use.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseDuration } from '../../src/config/units.ts';
import { REQUESTS_MAX } from '../../src/pipeline/send/delivery.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/delivery.md'), 'utf8');
const example = parse(
  readFileSync(join(import.meta.dirname, '../../config/prom2otlp.example.yaml'), 'utf8'),
) as { queue: { metrics: { max_bytes: string; max_age: string } } };
const { max_bytes: maxBytes, max_age: maxAge } = example.queue.metrics;
const GIB = 2 ** 30;
const HOUR_MS = 3_600_000;
/** As the text has it: in a request of 1,000 points, and in larger ones. */
const [LARGE_BYTES, SMALL_BYTES] = /takes (\d+) bytes in .*, and (\d+) in one/
  .exec(text)
  ?.slice(1)
  .map(Number) ?? [0, 0];

test('the table of sizes follows from the formula', () => {
  const rows = [...text.matchAll(/^\| ([\d,]+) \| (\d+s) \| ([\d.]+) MB \| (\d+) h \|$/gm)];
  expect(rows.length).toBe(5);
  for (const [row, series = '', interval = '', megabytes, hours] of rows) {
    const count = Number(series.replaceAll(',', ''));
    const perPoint = (count > 1000 ? LARGE_BYTES : SMALL_BYTES) ?? 0;
    const bytes = count * (HOUR_MS / (parseDuration(interval) ?? 0)) * perPoint;
    expect(Math.abs(bytes / 1e6 - Number(megabytes)), row).toBeLessThanOrEqual(0.05);
    expect(Math.round(GIB / bytes), row).toBe(Number(hours));
  }
});

test('defaults and limits are those of the program', () => {
  expect(maxBytes).toBe('1GiB');
  expect(text).toContain(`\`queue.metrics.max_age\` (${maxAge})`);
  expect(text).toContain(`at most ${String(REQUESTS_MAX)} requests`);
});

test('the window for Prometheus is as long as the queue keeps metrics', () => {
  const [, yaml = ''] = /```yaml\n(storage:[^`]*)```/.exec(text) ?? [];
  expect(parse(yaml)).toEqual({
    storage: { tsdb: { out_of_order_time_window: maxAge } },
  });
});
