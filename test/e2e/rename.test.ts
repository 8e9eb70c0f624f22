// `metrics.rename` in the real daemon, with the rules of config/collector-names.yaml: points arrive with the new names
// and labels, and each series continues under them after a restart.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ADDED_SERIES, type OtlpPoint } from '../support/otlp-points.ts';
import { type Running, until } from '../support/program.ts';
import { useRig } from '../support/rig.ts';

const rig = useRig();
const sample = readFileSync(join(import.meta.dirname, '../../config/collector-names.yaml'), 'utf8');
const { rename } = (parse(sample) as { metrics: { rename: readonly { match: string }[] } }).metrics;
const rules = rename.map(({ match }) => new RegExp(`^(?:${match})$`, 'u'));

const keyOf = ({ serviceId, metric, attributes }: OtlpPoint): string =>
  JSON.stringify([serviceId, metric, attributes]);

/** Runs the daemon for three scrapes of all services, and returns the points that arrived. */
async function runs(end: (daemon: Running) => Promise<unknown>): Promise<readonly OtlpPoint[]> {
  const queue = { directory: join(rig.directory.path, 'queue') };
  const file = rig.config({ metrics: { interval: '1s', rename }, queue });
  const from = rig.receiver.points.length;
  const daemon = rig.run(file);
  const scrapes = (id: string): number =>
    rig.receiver.points
      .slice(from)
      .filter(({ serviceId, metric, value }) => serviceId === id && metric === 'up' && value === 1)
      .length;
  await until('three scrapes', () => rig.ids.every(id => scrapes(id) >= 3), 30_000);
  await end(daemon);
  return rig.receiver.points.slice(from).filter(({ metric }) => !ADDED_SERIES.has(metric));
}

test('names and labels arrive as the rules say, and every series goes on after a stop and a kill', async () => {
  const first = await runs(daemon => daemon.stop());
  const second = await runs(daemon => daemon.kill());
  const third = await runs(daemon => daemon.stop());
  const all = [...first, ...second, ...third];

  const names = [...new Set(all.map(({ metric }) => metric))];
  expect(names.filter(name => rules.some(rule => rule.test(name)))).toEqual([]);
  expect(names.filter(name => name.startsWith('mysql.')).length).toBeGreaterThan(15);
  const of = (metric: string): readonly string[] => [
    ...new Set(all.filter(point => point.metric === metric).map(({ attributes }) => attributes)),
  ];
  expect(of('mysql.threads').join(' ')).toMatch(/\bkind=connected\b/);
  expect(of('mysql.handlers').join(' ')).toMatch(/\bkind=commit\b/);
  expect(of('mysql.handlers').join(' ')).not.toContain('handler=');

  // Each run has the same series with the same starts, and no series ended.
  const starts = new Map(first.map(point => [keyOf(point), point.startNs]));
  expect(starts.size).toBeGreaterThan(200);
  for (const run of [second, third])
    expect(new Set(run.map(keyOf))).toEqual(new Set(starts.keys()));
  expect(all.filter(point => point.startNs !== starts.get(keyOf(point)))).toEqual([]);
  expect(all.filter(({ flags }) => flags !== 0)).toEqual([]);
});
