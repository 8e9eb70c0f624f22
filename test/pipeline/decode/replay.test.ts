// Replay reads only the numbers of a page, and must read them as the full function does.
// test/fuzz/repeating.test.ts compares both functions on whole pages.

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ExpositionFormat } from '../../../src/model/page.ts';
import { SeriesTable } from '../../../src/model/series-table.ts';
import { Replay } from '../../../src/pipeline/decode/replay.ts';
import { bug } from '../../../src/errors.ts';
import { decodePage, pageOf } from '../../support/decode-page.ts';

/** Replays `page` after the page `before`. Returns how the replay ended, and the table. */
function replay(
  before: string | Buffer,
  page: string | Buffer,
  format: ExpositionFormat = 'text',
): { readonly end: string; readonly table: SeriesTable } {
  const { table } = decodePage(before, { format });
  const layout = table.layout ?? bug('the page has no layout');
  const end = new Replay(pageOf(page, format), table, layout).step(table.count);
  return { end, table };
}

/** The number that a replay reads in the place of another number, or how the replay ended. */
function replayed(number: string): number | string {
  const { end, table } = replay('a 1\nb 2\n', `a ${number}\nb 2\n`);
  return end === 'done' ? (table.value[0] ?? '') : end;
}

describe('numbers of a repeated page', () => {
  test('are read to the last bit, in any notation', () => {
    const numbers =
      '0 0.0 7 1.5 .5 5. -0 +1 123456789012345 1234567890123456 1e+05 1.234567e+06 9e+22 9e+23 1e+5 1e5 1e-07 ' +
      '1E+05 1e+005 0e+99 1.23456789e+22 123456789012345e+22 1.7976931348623157e+308 5e-324';
    const texts = numbers.split(' ');
    expect(texts.map(replayed)).toStrictEqual(texts.map(Number));
  });

  test('with mantissas and exponents of any kind', () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 17n }).map(String);
    const place = fc.nat(17);
    const exponent = fc.integer({ min: 0, max: 30 }).map(e => String(e).padStart(2, '0'));
    fc.assert(
      fc.property(digits, place, exponent, (text, at, e) => {
        const dot = 1 + (at % text.length);
        const mantissa = dot < text.length ? `${text.slice(0, dot)}.${text.slice(dot)}` : text;
        for (const number of [mantissa, `${mantissa}e+${e}`, `${mantissa}e-${e}`])
          expect([number, replayed(number)]).toStrictEqual([number, Number(number)]);
      }),
    );
  });

  test('text that is not a number ends the fast path', () => {
    for (const text of ['', '.', '1e', '1e+', '1e+x5', '1e+0x', '1e+05x', '1,5', '0x1', '1.2.3'])
      expect([text, replayed(text)]).toStrictEqual([text, 'surprised']);
  });
});

describe('timestamps of a repeated page', () => {
  /** The times that a replay reads from a page with these timestamps, or how it ended. */
  function timesOf(times: readonly string[], format: ExpositionFormat = 'text') {
    const write = (all: readonly string[]): string =>
      all.map((time, i) => `line_of_a_page_${i} 1${time}\n`).join('') +
      (format === 'text' ? '' : '# EOF\n');
    const { end, table } = replay(write(times.map(() => ' 1')), write(times), format);
    return end === 'done' ? Array.from(table.timeMs.subarray(0, times.length)) : end;
  }

  /** Expects a replay to read these times on successive lines; `unit` is in milliseconds. */
  const check = (times: readonly string[], format?: ExpositionFormat, unit = 1): void =>
    expect(
      timesOf(
        times.map(time => ` ${time}`),
        format,
      ),
    ).toStrictEqual(times.map(time => Number(time) * unit));

  test('are the same on all lines, or change, or are missing', () => {
    const [one, two, three] = [' 1700000000000', ' 1700000000001', ' 1600000000001'];
    const times = [one, one, two, '', two, three, three];
    const read = times.map(time => (time === '' ? Number.NaN : Number(time)));
    expect(timesOf(times)).toStrictEqual(read);
  });

  test('at any width, one after the other', () => {
    const digits = '123456789012345678';
    const widths = Array.from({ length: digits.length }, (_, i) => digits.slice(0, i + 1));
    for (const all of [widths, widths.toReversed(), widths.flatMap(w => [w, w, `-${w}`, `-${w}`])])
      check(all);
  });

  test('that only share a beginning or end with the last one', () => {
    check('170000000 1700000001 170000000 1170000000 70000000 1700000000000000'.split(' '));
  });

  test('in seconds, with a dot or an exponent', () => {
    const all = ['1700000000.125', '1.7e9', '1.70e9', '-1.5'].flatMap(time => [time, time]);
    check(all, 'openmetrics', 1000);
  });

  test('an invalid one after a valid one ends the fast path', () => {
    const time = '1700000000000';
    for (const bad of ['', `${time}x`, `${time}0 `, `${time}\r`, ` ${time}`])
      expect([bad, timesOf([` ${time}`, ` ${bad}`])]).toStrictEqual([bad, 'surprised']);
  });

  test('at the end of a page without its last newline', () => {
    const before = 'a 1 1700000000000\nb 1 1700000000000';
    for (const [last, want] of [
      ['', 'surprised'],
      ['1 ', 'surprised'],
      ['1 170000000000', 'done'],
      ['1 1700000000001', 'done'],
    ] as const)
      expect([last, replay(before, `a 1 1\nb ${last}`).end]).toStrictEqual([last, want]);
    expect(replay(before, 'a').end).toBe('surprised');
  });
});

test('after three misses in a row, only every sixteenth page is prepared for', () => {
  const preparedPages = (misses: number): readonly number[] => {
    const table = new SeriesTable();
    table.layoutMisses = misses;
    return Array.from({ length: 40 }, () => {
      decodePage('a 1\nb 2\n', { table });
      return table.layout === null ? 0 : table.page;
    }).filter(page => page > 0);
  };
  expect(preparedPages(2)).toHaveLength(40);
  expect(preparedPages(3)).toEqual([16, 32]);
});

describe('keys of a repeated page', () => {
  test('next to text that reads as NaN are left to the full function', () => {
    // Not valid UTF-8, but a comment may contain any bytes.
    const bytes = Buffer.from(`# ${'x'.repeat(40)}\na 1\nb 2\n`);
    for (let at = 10; at < 26; at += 2) bytes.set([0xf8, 0xff], at);
    expect(replay(bytes, bytes).end).toBe('surprised');
  });
});
