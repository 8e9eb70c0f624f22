import { describe, expect, test } from 'vitest';
import { parsePointer } from '../../src/lib/json.ts';
import {
  type Descriptor,
  type ItemContext,
  readDescriptor,
  type Refusal,
} from '../../src/logs/item.ts';
import type { LogPointers } from '../../src/service/logs-api.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts';
import { ENDPOINTS, testService } from '../support/log-api.ts';

const DAY = Date.UTC(2026, 2, 4);
const DAYS = { fromMs: DAY - DAY_MS, toMs: DAY + 9 * HOUR_MS };
const SERVICES = [testService('db1', 'orders'), testService('db2', 'ledger')];
const pointers = Object.fromEntries(
  Object.entries(ENDPOINTS.pointers).map(([name, text]) => [name, parsePointer(text)]),
) as LogPointers;

const GOOD = {
  id: 'a1',
  name: 'orders-0_error-log_2026-03-04',
  logType: 'error-log',
  server: 'orders-0',
  service: 'orders',
  serverDataSourceId: 'db1/orders-0',
  size: 1234,
  startTime: '2026-03-04T00:00:00.000Z',
};

const CONTEXT: ItemContext = { pointers, services: SERVICES, otherServiceCount: 0, types: [] };

function read(changes: object, context: Partial<ItemContext> = {}): Descriptor | Refusal {
  return readDescriptor({ ...GOOD, ...changes }, { ...CONTEXT, ...context }, DAYS);
}

describe('an archive', () => {
  test('is read from its list entry', () => {
    expect(read({})).toEqual({
      id: 'a1',
      name: 'orders-0_error-log_2026-03-04',
      partition: {
        service: SERVICES[0],
        source: 'db1/orders-0',
        server: 'orders-0',
        type: 'error-log',
      },
      size: 1234,
      dayMs: DAY,
      endMs: DAY + DAY_MS,
    });
  });

  test('may grow for a day from its start on, or until the day in its name is over in every zone', () => {
    const endOf = (changes: object): unknown => read(changes);
    const startTime = '2026-03-03T22:00:00Z';
    expect(endOf({ startTime })).toMatchObject({ dayMs: DAY - DAY_MS, endMs: DAY + 22 * HOUR_MS });
    expect(endOf({ startTime: null })).toMatchObject({ dayMs: DAY, endMs: DAY + 36 * HOUR_MS });
  });

  test('has the day of its start, or that in its name', () => {
    const check = (changes: object, day: number | Refusal): void => {
      const found = read(changes);
      expect(typeof found === 'string' ? found : found.dayMs, JSON.stringify(changes)).toBe(day);
    };
    check({ startTime: '2026-03-04T05:00:00+02:00' }, DAY);
    check({ startTime: '2026-03-04T01:00:00+02:00' }, DAY - DAY_MS);
    check({ startTime: DAY + 5 }, DAY);
    check({ startTime: DAY / 1000 + 5 }, DAY);
    check({ startTime: '2026-03-03' }, DAY - DAY_MS);
    check({ startTime: null }, DAY);
    check({ startTime: null, name: '', id: '2026-03-03.orders' }, DAY - DAY_MS);
    check({ startTime: 'soon' }, 'no_time');
    check({ startTime: null, name: 'x', id: '12026-03-031' }, 'no_time');
  });

  test('may have a size in any form, or none', () => {
    const check = (size: unknown, want: number | null): void =>
      expect(read({ size })).toMatchObject({ size: want });
    check('77', 77);
    check(0, 0);
    check(null, null);
    check('', null);
    check('large', null);
    check(-1, null);
  });

  test('belongs to the service that its source names, else to the one named by id or name', () => {
    const check = (changes: object, service: string): void => {
      const found = read(changes);
      expect(typeof found === 'string' ? found : found.partition.service.id).toBe(service);
    };
    check({ serverDataSourceId: 'db2/x', service: 'orders' }, 'db2');
    check({ serverDataSourceId: 'db2' }, 'db2');
    check({ serverDataSourceId: '', service: 'ledger' }, 'db2');
    check({ serverDataSourceId: null, service: 'db2' }, 'db2');
    check({ serverDataSourceId: 'db3/x' }, 'service');
    check({ serverDataSourceId: '', service: 'other' }, 'service');
    check({ serverDataSourceId: '', service: '' }, 'service');
    const unnamed = { serverDataSourceId: '', service: '' };
    const services = [testService('db9')];
    expect(read(unnamed, { services })).toMatchObject({
      partition: { service: { id: 'db9' }, source: 'orders-0' },
    });
    // The item may belong to a service of another shard.
    expect(read(unnamed, { services, otherServiceCount: 1 })).toBe('service');
  });
});

test('unrequested items are refused', () => {
  const check = (changes: object, types: string[], want: Refusal): void =>
    expect(read(changes, { types })).toBe(want);
  check({}, ['audit-log'], 'type');
  check({ logType: '' }, [], 'type');
  check({ id: '' }, [], 'no_id');
  check({ id: {} }, [], 'no_id');
  check({ startTime: '2026-03-02T23:59:59Z' }, [], 'out_of_window');
  check({ startTime: '2026-03-05T00:00:00Z' }, [], 'out_of_window');
  expect(read({ logType: null }, { types: ['audit-log'] })).toMatchObject({
    partition: { type: 'audit-log' },
  });
  expect(readDescriptor(null, CONTEXT, DAYS)).toBe('no_id');
  expect(readDescriptor('text', CONTEXT, DAYS)).toBe('no_id');
});
