import { describe, expect, test } from 'vitest';
import { type Faults, NO_FAULTS, parseFaults } from '../../src/simulator/faults.ts';

describe('faults from outside', () => {
  test('are used unchanged, and nothing is added', () => {
    const check = (faults: Partial<Faults>): void =>
      expect(parseFaults(faults)).toEqual({ isGood: true, faults });
    check({});
    check({ status: 429, retryAfter: '5', times: 2 });
    check({ status: null, times: null });
    check({ redirectTo: 'same-origin' });
    check({ redirectTo: 'http://127.0.0.1:9/elsewhere' });
    check({ badLines: { dbpgf10000001: 2 }, absentServices: ['dbpgf10000002'] });
    check({ clockSkewMs: -90_000, timestamps: 'frozen' });
    check(NO_FAULTS);
  });

  test('are refused with the name of the mistake', () => {
    const check = (input: unknown, ...problems: RegExp[]): void => {
      const result = parseFaults(input);
      if (result.isGood) expect.fail(`accepted ${JSON.stringify(input)}`);
      expect(result.problems).toHaveLength(problems.length);
      for (const [i, problem] of problems.entries()) expect(result.problems[i]).toMatch(problem);
    };
    check({ stattus: 500 }, /stattus/u);
    check({ status: 99 }, /^status: /u);
    check({ status: '500', body: 'json' }, /^status: /u, /^body: /u);
    check({ status: 429, retryAfter: '1\r\nx: y' }, /^retryAfter: /u);
    check({ times: 0 }, /^times: /u);
    check({ redirectTo: 'elsewhere' }, /^redirectTo: /u);
    check({ badLines: { dbpgf10000001: -1 } }, /^badLines: dbpgf10000001: /u);
    check([], /object/u);
    check(null, /object/u);
  });
});
