import { expect, test } from 'vitest';
import { type Gauge, writeGauges } from '../../../src/pipeline/encode/gauges.ts';
import { WireWriter } from '../../../src/pipeline/encode/wire.ts';
import { otlpPoints } from '../../support/otlp-points.ts';
import { saneMetrics } from '../../support/wire-sanity.ts';

const OWNER = {
  identity: { name: 'orders', id: 'db1', attributes: { team: 'a' }, server: null },
  info: new Map([['region', 'north']]),
  scope: 'prom2otlp/backups',
  prefix: '',
};

const GAUGES: readonly Gauge[] = [
  {
    name: 'age_seconds',
    description: 'How old.',
    unit: 's',
    points: [
      { attributes: [['type', 'full']], value: 1.5 },
      { attributes: [['type', 'log']], value: null },
    ],
  },
  { name: 'none', description: 'Nothing.', unit: '', points: [] },
  { name: 'up', description: 'Up.', unit: '', points: [{ attributes: [], value: 0 }] },
];

test('points have their Resource, scope, attributes and time; one without a value is a marker', () => {
  const writer = new WireWriter();
  expect(writeGauges(writer, OWNER, GAUGES, 1_000)).toBe(3);
  const points = otlpPoints(saneMetrics(writer.written()));
  const shared = {
    resource: 'region=north,service.instance.id=db1,service.name=orders,team=a',
    scope: 'prom2otlp/backups',
    type: 'gauge',
    timeNs: '1000000000',
  };
  const age = { ...shared, metric: 'age_seconds', unit: 's', description: 'How old.' };
  expect(points).toMatchObject([
    { ...age, attributes: 'type=full', value: 1.5, flags: 0 },
    { ...age, attributes: 'type=log', value: undefined, flags: 1 },
    { ...shared, metric: 'up', unit: '', attributes: '', value: 0, flags: 0 },
  ]);
});

test('each service is a request by itself', () => {
  const writer = new WireWriter();
  writeGauges(writer, OWNER, GAUGES, 1_000);
  const firstLength = writer.length;
  writeGauges(writer, { ...OWNER, prefix: 'db2.' }, GAUGES, 1_000);
  const names = (bytes: Buffer): readonly string[] =>
    otlpPoints(saneMetrics(bytes)).map(({ metric }) => metric);
  const all = writer.written();
  expect(names(all.subarray(0, firstLength))).toEqual(['age_seconds', 'age_seconds', 'up']);
  const prefixed = ['db2.age_seconds', 'db2.age_seconds', 'db2.up'];
  expect(names(all.subarray(firstLength))).toEqual(prefixed);
  expect(names(all)).toHaveLength(6);
});
