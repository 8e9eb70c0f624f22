import { expect, test } from 'vitest';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { LogMeter } from '../../src/logs/log-meter.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { testService } from '../support/log-api.ts';

test('a reload keeps the lags of what is still pulled until they are known again', () => {
  const counters = new Counters();
  const open = (isPulled?: (service: string, type: string) => boolean): LogMeter =>
    new LogMeter(counters, silentLogger, new FakeClock(), isPulled);
  const note = (meter: LogMeter, id: string, doneUntilMs: number): void => {
    const partition = { service: testService(id), source: id, server: '', type: 'error-log' };
    meter.status(partition).doneUntilMs = doneUntilMs;
    meter.pull('api', 'done', 0, 60_000);
  };
  const first = open();
  note(first, 'db1', 20_000);
  note(first, 'db2', 30_000);
  const second = open(service => service === 'db1');
  const { lag } = second.counters;
  expect(lag.series).toEqual([{ labelValues: ['db1', 'error-log'], value: 40 }]);
  note(second, 'db1', 50_000);
  expect(lag.get('db1', 'error-log')).toBe(10);
  second.close();
  expect(lag.series).toEqual([]);
});

test('the end of a pull costs no look at the partitions of all pullers', () => {
  const meter = new LogMeter(new Counters(), silentLogger, new FakeClock());
  let looks = 0;
  for (const id of ['db1', 'db2']) {
    const partition = { service: testService(id), source: id, server: '', type: 'error-log' };
    const get = (): number => (looks++, 20_000);
    Object.defineProperty(meter.status(partition), 'doneUntilMs', { get });
  }
  for (const api of ['one', 'two', 'three']) meter.pull(api, 'done', 0, 60_000);
  expect(looks).toBe(0);
  expect(meter.counters.lag.series.map(({ value }) => value)).toEqual([40, 40]);
  expect(looks).toBe(2);
});
