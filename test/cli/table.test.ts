import { expect, test } from 'vitest';
import { renderTable, textWidth } from '../../src/cli/table.ts';

const table = (rows: readonly (readonly string[])[], width?: number): readonly string[] =>
  renderTable(rows, width).split('\n');

test('columns are as wide as their widest cell, and numbers are right-aligned', () => {
  expect(
    table([
      ['SERVICE', 'SAMPLES', 'BYTES', 'AGE', 'REASON'],
      ['orders', '1,234', '1.5 KiB', '2 min 5 s', ''],
      ['a-long-name', '7', '900 B', '12 s', 'absent'],
    ]),
  ).toEqual([
    'SERVICE      SAMPLES    BYTES        AGE  REASON',
    'orders         1,234  1.5 KiB  2 min 5 s',
    'a-long-name        7    900 B       12 s  absent',
  ]);
});

test('numbers are recognised', () => {
  const isRight = (...cells: string[]): boolean =>
    (table([['A WIDE HEAD', 'x'], ...cells.map(cell => [cell, 'x'])])[1] ?? '').startsWith(' ');
  const check = (cells: string[], want: boolean): void => expect(isRight(...cells)).toBe(want);
  check(['1'], true);
  check(['-0.5', '98%', '+7'], true);
  // A missing number does not turn a column of numbers into text.
  check(['1', '', '-'], true);
  check(['-', '-'], false);
  check(['1', 'none'], false);
  check(['10.0.0.1:80'], false);
  check(['2026-03-04'], false);
});

test('long texts are cut to the available width, the longest first; numbers never', () => {
  const rows = [
    ['NAME', 'COUNT', 'MESSAGE'],
    ['database-one', '123,456,789', 'the connection was refused by the other end'],
  ];
  expect(table(rows, 50)).toEqual([
    'NAME                COUNT  MESSAGE',
    'database-one  123,456,789  the connection was ref…',
  ]);
  // The message has its least width, so that the line is longer than the width.
  expect(table(rows, 20)).toEqual([
    'NAME                COUNT  MESSAGE',
    'database-one  123,456,789  the con…',
  ]);
  expect(table(rows, 500)).toEqual(table(rows));
});

test('the column that tells the rows apart is never cut', () => {
  const rows = [
    ['ID', 'MESSAGE', 'NOTE'],
    ['2026-03-02.orders-0', 'a message of some length', 'a note'],
  ];
  expect(table(rows, 45)).toEqual([
    'ID                   MESSAGE           NOTE',
    '2026-03-02.orders-0  a message of so…  a note',
  ]);
  expect(table(rows, 35)).toEqual([
    'ID                   MESSAGE   NOTE',
    '2026-03-02.orders-0  a messa…  a note',
  ]);
});

test('wide characters take two columns', () => {
  const check = (text: string, want: number): void => expect(textWidth(text)).toBe(want);
  check('abc', 3);
  check('数据库', 6);
  check('é', 1);
  check('e\u0301', 1);
  check('👩‍💻', 2);
  expect(
    table(
      [
        ['', 'N'],
        ['', '数据库数据库'],
        ['', 'x'],
      ],
      10,
    ),
  ).toEqual(['  N', '  数据库…', '  x']);
});

test('no cell can steer the terminal or break the line', () => {
  const check = (cell: string, want: string): void => expect(table([['H'], [cell]])[1]).toBe(want);
  check('a\u001B[31mred', 'a?[31mred');
  check('two\r\nlines\tand a tab', 'two lines and a tab');
  check('turned \u202Earound', 'turned ?around');
  check('bell\u0007\u009B', 'bell??');
});

test('no rows and ragged rows are tables too', () => {
  expect(renderTable([])).toBe('');
  expect(table([['A', 'B'], ['1']])).toEqual(['A  B', '1']);
});

test('a table may have more rows than a call takes arguments', () => {
  const rows = Array.from({ length: 150_000 }, (_, i) => [String(i)]);
  expect(renderTable(rows)).toHaveLength(150_000 * 7 - 1);
});
