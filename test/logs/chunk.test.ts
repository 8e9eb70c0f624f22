import { expect, onTestFinished, test } from 'vitest';
import { LogSink } from '../../src/logs/chunk.ts';
import type { Gap } from '../../src/logs/gap.ts';
import type { Ledger } from '../../src/logs/ledger.ts';
import type { LogMeter } from '../../src/logs/log-meter.ts';
import { commit, type Pull } from '../../src/logs/pull.ts';
import type { ParsedRecord } from '../../src/logs/record.ts';
import type { ServiceResource } from '../../src/pipeline/encode/identity.ts';
import { Queue } from '../../src/pipeline/queue/queue.ts';
import type { ServiceConfig } from '../../src/config/config.ts';
import { queueOptions } from '../pipeline/queue/queue-behaviour.ts';
import { flatPoints } from '../support/otlp-requests.ts';

const RECORD: ParsedRecord = {
  timeMs: 1e12,
  timeExtraNs: 0,
  severityNumber: 9,
  severityText: 'Note',
  body: 'a line of the log',
  eventName: null,
  attributes: [],
  firstOffset: 0,
  lineCount: 1,
  raw: 'a line of the log',
  stream: '',
  marks: 0,
};

test('records and gaps of one commit are all stored: neither overwrites the others', async () => {
  const options = queueOptions();
  const queue = Queue.open(options, null);
  onTestFinished(() => queue.close());
  const service = { id: 'orders', name: 'orders' } as ServiceConfig;
  const partition = { service, source: 's', server: 'orders-0', type: 'error-log' };
  const resourceOf = (): ServiceResource => ({
    identity: { name: 'orders', id: 'orders', attributes: {}, server: null },
    info: new Map(),
  });
  const noted: Gap[] = [];
  const meter = { gap: (gap: Gap) => noted.push(gap) } as unknown as LogMeter;
  const sink = new LogSink({
    queue,
    clock: options.clock,
    meter,
    attributeLimit: null,
    resourceOf,
  });
  const chunk = sink.chunk(partition);
  for (let i = 0; i < 20; i++) chunk.add({ ...RECORD, body: `line ${String(i)}` }, `u${i}`, '');
  const gaps = [1, 2].map(
    (day): Gap => ({
      partition,
      span: { fromMs: day * 1e9, toMs: (day + 1) * 1e9 },
      reason: 'retention',
      archive: '',
    }),
  );
  const ledger = { changes: () => [], stored: () => undefined } as unknown as Ledger;
  const api = { signal: new AbortController().signal };
  await commit({ api, sink, ledger, meter } as unknown as Pull, { batches: [chunk.end()], gaps });
  const rows = await queue.oldest('logs', 9, new Set());
  const bodies = rows
    .flatMap(row => flatPoints('logs', row.body))
    .map(record => (JSON.parse(record) as { record: { body: { stringValue: string } } }).record);
  expect(bodies).toHaveLength(22);
  expect(bodies.map(({ body }) => body.stringValue).slice(0, 20)).toEqual(
    Array.from({ length: 20 }, (_, i) => `line ${String(i)}`),
  );
  expect(bodies[20]?.body.stringValue).toContain('no longer keeps these logs');
  expect(noted).toEqual(gaps);
});
