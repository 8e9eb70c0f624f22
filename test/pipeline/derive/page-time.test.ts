// F1 when our clock is set, what its scripts (test/rules/clocks.txt) cannot say: the own series.
import { expect, test } from 'vitest';
import { at, Target } from '../../support/target.ts';

const DAYS = 3 * 86_400;

test('F1: set by days, the own series continue in the time of the service', () => {
  for (const offset of [-DAYS, DAYS]) {
    const target = new Target();
    const times = [0, offset, offset, 0].map((ours, i) => {
      const seconds = 60 * (i + 1);
      const { own } = target.page(seconds, 'a 1', { wall: seconds + ours, server: seconds });
      return own.find(({ metric }) => metric === 'up')?.timeNs;
    });
    expect(times).toEqual([60, 120, 180, 240].map(seconds => `${at(seconds)}000000`));
  }
});

test('F1: set by days while the service does not answer, time continues from its last Date', () => {
  const target = new Target();
  target.page(60, 'a 1', { server: 60 });
  const { own } = target.fail(120, 'timeout', { wall: 120 - DAYS, monotonic: 120 });
  expect(own[0]?.timeNs).toBe(`${at(120)}000000`);
});
