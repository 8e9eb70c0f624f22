import { expect, test } from 'vitest';
import { Counters } from '../../../src/lib/counters.ts';
import {
  ATTRIBUTE_COUNTERS,
  attributeLimit,
} from '../../../src/pipeline/encode/attribute-limit.ts';
import { writeAttribute } from '../../../src/pipeline/encode/identity.ts';
import { LogsRequest } from '../../../src/pipeline/encode/logs.ts';
import { WireWriter } from '../../../src/pipeline/encode/wire.ts';
import { oracleDecodeLogs } from '../../reference/oracle.ts';

const LENGTH = 128;

function limited(): { readonly writer: WireWriter; readonly count: () => number | undefined } {
  const counters = new Counters();
  const limit = attributeLimit({ maxAttributeLength: LENGTH }, 'logs', counters);
  const { cut } = counters.of(ATTRIBUTE_COUNTERS);
  return { writer: new WireWriter(1024, limit), count: () => cut.get('logs') };
}

test('a longer attribute value is cut at a character and counted; bodies and names stay whole', () => {
  const { writer, count } = limited();
  const identity = { name: 'orders', id: 'a', attributes: {}, server: null };
  const request = new LogsRequest(writer, { identity, info: new Map() });
  const record = {
    timeMs: 1e12,
    timeExtraNs: 0,
    severityNumber: 9,
    severityText: '',
    body: 'b'.repeat(500),
    eventName: null,
    attributes: [
      ['fits', 'f'.repeat(LENGTH)],
      ['long', 'ö'.repeat(500)],
      ['pair', `${'p'.repeat(LENGTH - 1)}😀😀`],
    ] as const,
  };
  request.add(record, 1e12, []);
  const logs = oracleDecodeLogs(request.end());
  const [sent] = logs.resourceLogs?.[0]?.scopeLogs?.[0]?.logRecords ?? [];
  const values = sent?.attributes?.map(({ value }) => value?.stringValue?.length);
  expect(values).toEqual([LENGTH, LENGTH, LENGTH - 1]);
  expect(sent?.body?.stringValue).toHaveLength(500);
  expect(count()).toBe(2);
});

test('without a limit, a value of any length is written', () => {
  expect(attributeLimit({ maxAttributeLength: null }, 'metrics', new Counters())).toBeNull();
  const writer = new WireWriter();
  writeAttribute(writer, 1, 'long', 'x'.repeat(100_000));
  expect(writer.length).toBeGreaterThan(100_000);
});
