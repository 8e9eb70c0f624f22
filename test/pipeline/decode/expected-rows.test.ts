// On a page that is read in full, most rows are predicted: predictions must equal look-ups, and a
// page means the same whatever came before it.

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SeriesTable } from '../../../src/model/series-table.ts';
import { Decoding } from '../../../src/pipeline/decode/decode.ts';
import { ExpectedRows } from '../../../src/pipeline/decode/expected-rows.ts';
import { freeRow, rebuildIndex } from '../../../src/pipeline/decode/row-index.ts';
import { Replay } from '../../../src/pipeline/decode/replay.ts';
import { decodePage, keyOf, LIMITS, pageOf } from '../../support/decode-page.ts';

/** Reads a page as the pipeline does. Returns the report, the rows and the repeated series. */
function read(table: SeriesTable, text: string): unknown {
  const page = pageOf(text);
  const replay = table.layout === null ? null : new Replay(page, table, table.layout);
  if (replay?.step(LIMITS.samples) === 'done') return { report: replay.report(), ...told(table) };
  const decoding = new Decoding(page, table, LIMITS);
  while (!decoding.step(3));
  return { report: decoding.report, ...told(table) };
}

/** The rows of the page in the order of its lines, and the repeated series. */
function told(table: SeriesTable): { readonly rows: unknown; readonly repeats: unknown } {
  const { line, role, value, timeMs } = table;
  const rows = Array.from({ length: table.count }, (_, row) => row)
    .filter(row => table.seen[row] === table.page)
    .sort((a, b) => (line[a] ?? 0) - (line[b] ?? 0))
    .map(row => {
      const { name, familyName, declared, hasType, help, unit } =
        table.metrics[table.metric[row] ?? 0] ?? {};
      const numbers = [line[row], role[row], value[row], timeMs[row]];
      return [keyOf(table, row), ...numbers, name, familyName, declared, hasType, help, unit];
    });
  return { rows, repeats: table.repeats.map(({ row, ...rest }) => [keyOf(table, row), rest]) };
}

function expectSameWhateverCameBefore(pages: readonly string[]): void {
  const table = new SeriesTable();
  for (const text of pages) expect(read(table, text)).toEqual(read(new SeriesTable(), text));
}

describe('a page reads the same with a table that knows its series and with an empty one', () => {
  const KEYS = [
    'a',
    'a {x="1"}',
    'a{x="1"}',
    'a{x="2"}',
    'b{}',
    'b{y="}"}',
    'b{ y="1",}',
    'c{z="é"}',
    'd{n="\0\0\0\0\0\0\0\0\0"}',
    'd{n="\0\0\0\0\0\0\0\x01\0"}',
  ];
  const TAILS = [' 1', ' 2 1500', '\t3', ' NaN', ' {x="1"} 4', '  {x="1"} 4', ' x', '', ' 1 2 3'];
  // A timestamp that is remembered, alone and with further bytes.
  const TIMED = [
    ' 1 1700000000000',
    ' 1 1700000000000 ',
    ' 1 1700000000000\r',
    ' 1 17000000000001',
  ];

  test('with any keys and any numbers', () => {
    const line = fc
      .tuple(fc.constantFrom(...KEYS), fc.constantFrom(...TAILS, ...TIMED))
      .map(([key, end]) => key + end);
    const pages = fc.array(fc.array(line, { maxLength: 12 }), { minLength: 2, maxLength: 5 });
    fc.assert(
      fc.property(pages, fc.nat(1), (texts, blanks) => {
        const indent = ' '.repeat(blanks);
        expectSameWhateverCameBefore(
          texts.map(lines => lines.map(one => `${indent}${one}\n`).join('')),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test('with labels behind a blank, where a series without labels was', () => {
    for (const blanks of [' ', '  ', '\t', ' \t'])
      expectSameWhateverCameBefore(['a 1\n', `a${blanks}{x="1"} 1\n`]);
  });

  test('with a blank before a line, where a series was that is forgotten', () => {
    const { table } = decodePage('a 1\nb 1\n');
    freeRow(table, 0);
    rebuildIndex(table);
    expect(read(table, ' c 1\n')).toEqual(read(new SeriesTable(), ' c 1\n'));
  });

  test('with known series behind its end or over its limit', () => {
    const { table } = decodePage('a 1\nb 1\n# EOF\n', { format: 'openmetrics' });
    const late = { table, format: 'openmetrics' } as const;
    expect(decodePage('a 1\n# EOF\nb 1\n', late).report).toMatchObject({
      samples: 1,
      problems: [{ line: 3 }],
    });
    const limited = decodePage('a 1\nb 1\n', { table, limits: { samples: 1 } });
    expect(limited.report).toMatchObject({ limit: 'samples' });
  });

  test('with an exemplar, which leaves no layout', () => {
    const page = 'a_total{} 1 # {} 1\n# EOF\n';
    const { table } = decodePage(page, { format: 'openmetrics' });
    expect(table.layout).toBeNull();
    expect(decodePage(page, { table, format: 'openmetrics' }).table.layout).toBeNull();
  });

  /** Changes the lines of a page; `at` is the place, as a share of the page. */
  type Change = (lines: string[], at: number, number: number) => void;
  const placeOf = (lines: readonly string[], at: number): number =>
    Math.min(Math.floor(at * (lines.length + 1)), lines.length);
  const CHANGES: Readonly<Record<string, Change>> = {
    come: (lines, at, number) => lines.splice(placeOf(lines, at), 0, `c_total{n="${number}"} 1`),
    go: (lines, at, number) => lines.splice(placeOf(lines, at), number % 3),
    replace: (lines, at, number) =>
      lines.splice(placeOf(lines, at), 1, `g{n="${number}"} 1 170000000000${number % 2}`),
    twice: (lines, at) => lines.splice(placeOf(lines, at), 0, lines.at(placeOf(lines, at)) ?? ''),
    move: (lines, at, number) =>
      lines.splice(number % (lines.length + 1), 0, ...lines.splice(placeOf(lines, at), 4)),
    type: (lines, at, number) =>
      lines.splice(placeOf(lines, at), 0, `# TYPE h_bucket ${number % 2 ? 'gauge' : 'counter'}`),
    help: (lines, at, number) => lines.splice(placeOf(lines, at), 0, `# HELP g Help ${number}.`),
    bad: (lines, at) => lines.splice(placeOf(lines, at), 0, 'bad{ 1'),
    value: (lines, at, number) => {
      const place = placeOf(lines, at);
      const line = lines[place];
      if (line !== undefined && !line.startsWith('#'))
        lines[place] = line.replace(/\} .*/, `} ${number % 2 ? 'NaN' : number / 8}`);
    },
  };
  const START = [
    '# HELP c_total Counts.',
    '# TYPE c_total counter',
    ...Array.from({ length: 5 }, (_, i) => `c_total{n="${i}"} ${i} 1700000000000`),
    '# TYPE g gauge',
    ...Array.from({ length: 5 }, (_, i) => `g{n="${i}"} ${i}.5 1700000000000`),
    '# TYPE h histogram',
    ...['1', '5', '+Inf'].map((le, i) => `h_bucket{le="${le}"} ${i}`),
    'h_sum{} 4',
    'h_count{} 2',
  ];

  test('where lines come, go, move and change', () => {
    const anyChange = fc.tuple(fc.constantFrom(...Object.keys(CHANGES)), anyPlace(), fc.nat(20));
    const pages = fc.array(fc.array(anyChange, { maxLength: 3 }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(pages, changesOfPages => {
        const lines = [...START];
        const texts = changesOfPages.map(changes => {
          for (const [name, at, number] of changes) CHANGES[name]?.(lines, at, number);
          return `${lines.join('\n')}\n`;
        });
        expectSameWhateverCameBefore(texts);
      }),
      { numRuns: 1000 },
    );
  });

  /** Anywhere on the page, often at its beginning or its end. */
  function anyPlace(): fc.Arbitrary<number> {
    return fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
  }
});

describe('rows are expected', () => {
  const LINES = ['a{n="0"}', 'a{n="1"}', 'a{n="2"}', 'b{n="0"}', 'b{n="1"}', 'b{n="2"}'];

  const textOf = (lines: readonly string[]): string => `# HELP a A.\n${lines.join(' 1\n')} 1\n`;

  /** The lines of a page whose rows had to be looked up, after a page with LINES. */
  function lookedUp(lines: readonly string[], table = decodePage(textOf(LINES)).table): unknown {
    const bytes = Buffer.from(textOf(lines));
    const expected = new ExpectedRows(table, bytes);
    return lines.filter(line => {
      if (expected.find(bytes.indexOf(`${line} `)) >= 0) return false;
      const row = LINES.indexOf(line);
      expected.found(row < 0 ? table.addRow() : row);
      return true;
    });
  }

  const NEW = ['x{}', 'y{}'];
  const moved = [...LINES.slice(3), ...LINES.slice(0, 3)];
  test.each([
    ['where they were', LINES, []],
    ['behind new ones', [...NEW, ...LINES], NEW],
    ['among new ones', LINES.toSpliced(2, 0, ...NEW), NEW],
    ['where others were replaced', LINES.toSpliced(2, 2, ...NEW), NEW],
    ['where others are gone', LINES.toSpliced(1, 2), ['b{n="0"}']],
    ['within a family that moved', moved, ['b{n="0"}', 'a{n="0"}']],
  ])('%s', (_, lines, want) => {
    expect(lookedUp(lines)).toStrictEqual(want);
  });

  test('as they were last, not before', () => {
    const { table } = decodePage(textOf(LINES));
    const others = LINES.toSpliced(2, 2, 'x{}', 'y{}');
    decodePage(textOf(others), { table });
    expect(lookedUp(others, table)).toStrictEqual([]);
    decodePage(textOf(LINES), { table });
    expect(lookedUp(LINES, table)).toStrictEqual([]);
  });
});
