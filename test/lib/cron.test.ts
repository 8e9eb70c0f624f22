import { expect, test } from 'vitest';
import { cronProblem, nextCronRun } from '../../src/lib/cron.ts';

const NOW = Date.UTC(2026, 2, 4, 9);

test('five fields of numbers, names, ranges, lists and steps are valid', () => {
  const legal = ['0 3 * * *', '*/15 1-5,22 1,15 jan-mar MON,fri', '59 23 31 12 0', '0 0 29 2 *'];
  for (const expression of legal) expect(cronProblem(expression, NOW)).toBeNull();
});

test('anything else is rejected', () => {
  const check = (expression: string, why: string): void =>
    expect(cronProblem(expression, NOW), expression).toContain(why);
  check('', 'five fields');
  check('0 3 * * * *', 'five fields');
  check(' 0 3 * * *', 'one blank between them');
  check('0 3 L * *', 'the field "L"');
  check('0 3 * * 1#2', 'the field "1#2"');
  check('0 24 * * *', 'invalid value for hour: 24');
  check('5-1 * * * *', 'from value is larger than to value');
  check('*/0 * * * *', 'illegal stepping');
  check('0 3 30 2 *', 'it matches no time to come');
});

test('times are in UTC', () => {
  expect(nextCronRun('0 3 * * *', NOW)).toBe(Date.UTC(2026, 2, 5, 3));
  expect(nextCronRun('0 0 30 2 *', NOW)).toBeNull();
});
