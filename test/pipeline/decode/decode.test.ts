import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PROBLEMS_MAX } from '../../../src/model/page.ts';
import { ROLE, SeriesTable } from '../../../src/model/series-table.ts';
import { decodePage, type DecodeOptions } from '../../support/decode-page.ts';
import { Target } from '../../support/target.ts';

/** The samples of a page, one line each, in the order of its families. */
function linesOf(page: string | Buffer, options?: DecodeOptions): string[] {
  return decodePage(page, options).samples.map(({ name, labels, value, timestampMs, exemplar }) =>
    [
      name + (Object.keys(labels).length === 0 ? '' : JSON.stringify(labels)),
      Object.is(value, -0) ? '-0' : value,
      ...(timestampMs === undefined ? [] : [`@${timestampMs}`]),
      ...(exemplar === undefined ? [] : [JSON.stringify(exemplar)]),
    ].join(' '),
  );
}

describe('captured pages decode without a problem', () => {
  const capture = (name: string): Buffer =>
    readFileSync(new URL(`../../fixtures/captures/${name}.prom`, import.meta.url));
  const check = (name: string, samples: number): void => {
    const { report, samples: shown } = decodePage(capture(name));
    expect(report, name).toMatchObject({ limit: null, samples, badLines: 0, problems: [] });
    expect(shown).toHaveLength(samples);
  };

  test('each has the samples of its capture', () => {
    check('engine', 1161);
    check('engine_dbdown', 50);
    check('engine_replica', 1162);
  });

  test('their second reading finds every row again', () => {
    const { table } = decodePage(capture('engine'));
    const rows = table.count;
    table.fresh.length = 0;
    decodePage(capture('engine'), { table });
    expect(table.count).toBe(rows);
    expect(table.fresh).toStrictEqual([]);
  });
});

describe('bad lines', () => {
  test('a page with one bad line keeps all other samples and names the line', () => {
    const page = '# TYPE a counter\na{x="0"} 1\na{x="1"} 1,5\na{x="2"} 3\nb 4\n';
    expect(linesOf(page)).toStrictEqual(['a{"x":"0"} 1', 'a{"x":"2"} 3', 'b 4']);
    const problems = [{ line: 3, column: 10, reason: 'the value is no number' }];
    const counts = { limit: null, lines: 5, samples: 4, badLines: 1 };
    expect(decodePage(page).report).toMatchObject({ ...counts, problems });
  });

  test('problems name line and column, in bytes', () => {
    const check = (page: string, line: number, column: number, reason: string): void => {
      expect(decodePage(page).report.problems, page).toStrictEqual([{ line, column, reason }]);
    };
    check('a 1\n  b{c=1} 1\n', 2, 7, 'expected a quoted label value');
    check('a{b="é"} x\n', 1, 11, 'the value is no number');
    check('a 1 1.5\n', 1, 5, 'the timestamp is no time');
    check('a{b="1",b="2"} 1\n', 1, 1, 'the label "b" occurs twice');
    check('a 1 # {} 1\n', 1, 5, 'unexpected text after the value');
    check('# TYPE a what\na 1\n', 1, 1, 'the format has no type "what"');
  });

  test('names and labels that are not UTF-8 are refused, others on the page stay', () => {
    const page = Buffer.from('a{b="\xff"} 1\na{b="\xc3\xa9"} 2\n', 'latin1');
    expect(linesOf(page)).toStrictEqual(['a{"b":"é"} 2']);
    const reason = 'the name or a label is not valid UTF-8';
    expect(decodePage(page).report.problems).toMatchObject([{ reason }]);
  });

  test('they are counted by their namespace, even if they are truncated', () => {
    const page = 'a{namespace="n1"} x\na{namespace="n2",b=c} 1\na{namespace="n1\nb{\n';
    const { badByNamespace } = decodePage(page).report;
    expect(Object.fromEntries(badByNamespace)).toStrictEqual({ n1: 1, n2: 1, '': 2 });
    const other = decodePage('a{kube_namespace="n2", namespace = "n1"} x\n').report;
    expect(Object.fromEntries(other.badByNamespace)).toStrictEqual({ n1: 1 });
  });

  test('a HELP beyond the limits is left out; the page is still replayed', () => {
    const long = 'x'.repeat(10_000);
    const { report, table } = decodePage(`# HELP a ${long}\n# TYPE a counter\na 1\n`);
    expect(report).toMatchObject({ limit: null, badLines: 0, problems: [] });
    expect(table.metrics[0]).toMatchObject({ name: 'a', help: '', declared: 'counter' });
    expect(table.layout).not.toBeNull();
  });

  test('no quoted name is taken for a series of ours', () => {
    const { shown } = new Target().page(60, 'a 1\nb 2\n{"\u0001up"} 5\n');
    expect(shown).toEqual(['gauge a{} 1 @60', 'gauge b{} 2 @60']);
    const { report } = decodePage('{"\u0001up"} 5\n');
    const reason = 'the line has the control character U+0001';
    expect(report).toMatchObject({ badLines: 1, problems: [{ reason }] });
  });

  test.each([
    ['NUL', '\u0000', 'U+0000'],
    ['escape', '\u001b', 'U+001B'],
    ['delete', '\u007f', 'U+007F'],
  ])('a control character costs its line, never the page: %s', (_, character, code) => {
    const reason = `the line has the control character ${code}`;
    const lines = [
      `# HELP a te${character}xt`,
      'a 1',
      `b{x="y${character}"} 2`,
      `c${character} 3`,
      `d 4${character}`,
      `# ${character}`,
      character,
      'e{x="\t\r"} 5',
    ];
    const target = new Target({ metrics: { badShare: 1 } });
    for (const seconds of [60, 120]) {
      const { points, translated } = target.page(seconds, `${lines.join('\n')}\n`);
      expect(points.map(({ metric }) => metric)).toEqual(['a', 'e']);
      expect(translated.page?.badLines).toBe(4);
      expect(translated.page?.problems.filter(problem => problem.reason === reason)).toEqual([
        { line: 1, column: 12, reason },
        { line: 3, column: 7, reason },
        { line: 6, column: 3, reason },
      ]);
    }
  });

  test('a control character in an exemplar costs its line', () => {
    const { report } = decodePage('a 1 # {t="\u0001"} 1\nb 1\n# EOF\n', { format: 'openmetrics' });
    expect(report).toMatchObject({ samples: 2, badLines: 1 });
  });

  test('no more problems are kept than the limit, all are counted', () => {
    const { report } = decodePage('? 1\n'.repeat(5 * PROBLEMS_MAX));
    expect(report.problems).toHaveLength(PROBLEMS_MAX);
    expect(report.badLines).toBe(5 * PROBLEMS_MAX);
  });

  test.each([
    ['{b=c} 2', 16, 'expected a quoted label value'],
    ['{b="c",b="d"} 2', 13, 'the label "b" occurs twice'],
    ['{trace_id="",trace_id="d"} 2', 13, 'the label "trace_id" occurs twice'],
  ])('a bad exemplar is named, its sample stays: %s', (exemplar, column, reason) => {
    const page = `# TYPE a counter\na_total 1 # ${exemplar}\n# EOF\n`;
    const { report } = decodePage(page, { format: 'openmetrics' });
    expect(linesOf(page, { format: 'openmetrics' })).toStrictEqual(['a_total 1']);
    expect(report.problems).toStrictEqual([{ line: 2, column, reason }]);
  });
});

describe('tolerated by lenient mode', () => {
  const check = (page: string, want: readonly string[]): void => {
    expect(linesOf(page), page).toStrictEqual(want);
    expect(decodePage(page).report.problems, page).toStrictEqual([]);
  };

  test('a missing last newline', () => {
    check('a 1\nb 2', ['a 1', 'b 2']);
    check('a{b="c"} 1 2', ['a{"b":"c"} 1 @2']);
    check('# TYPE a counter\na 1', ['a 1']);
  });

  test('CRLF, blank lines, blanks at both ends', () => {
    check('# TYPE a gauge\r\na 1 2\r\n\r\nb{c="d"} 3\r\n', ['a 1 @2', 'b{"c":"d"} 3']);
    check('\n \t\n  a 1  \n\t\tb\t2\t3\t\n', ['a 1', 'b 2 @3']);
  });

  test('`#TYPE` without a space', () => {
    const { families } = decodePage('#TYPE a histogram\n#HELP a text\na_bucket{le="1"} 1\n');
    expect(families).toMatchObject([{ name: 'a', type: 'histogram', help: 'text' }]);
  });

  test('HELP and TYPE again, families whose samples are not adjacent', () => {
    const page =
      '# TYPE a counter\na{x="1"} 1\nb 2\n# TYPE a gauge\n# HELP a one\n# HELP a two\na{x="2"} 3\n';
    check(page, ['a{"x":"1"} 1', 'a{"x":"2"} 3', 'b 2']);
    expect(decodePage(page).families[0]).toMatchObject({ type: 'counter', help: 'one' });
  });
});

describe('histograms and summaries', () => {
  test('labelled histograms stay apart and keep their parts', () => {
    const lines = ['x', 'y'].map(
      l =>
        `h_bucket{l="${l}",le="1"} 1\nh_bucket{le="+Inf",l="${l}"} 2\nh_sum{l="${l}"} 3\nh_count{l="${l}"} 2\n`,
    );
    const { table, families } = decodePage(`# TYPE h histogram\n${lines.join('')}`);
    expect(families.map(({ samples }) => samples.length)).toStrictEqual([8]);
    const roles = [ROLE.bucket, ROLE.bucket, ROLE.sum, ROLE.count];
    expect([...table.role.subarray(0, 8)]).toStrictEqual([...roles, ...roles]);
    expect(table.metrics.map(({ name }) => name)).toStrictEqual(['h']);
  });

  test('TYPE after the samples still assigns them', () => {
    const page = 'h_bucket{le="+Inf"} 1\nh_count 1\n# TYPE h histogram\nh_sum 1\n';
    const { families, table } = decodePage(page);
    expect(families).toMatchObject([{ name: 'h', type: 'histogram' }]);
    expect(families[0]?.samples).toHaveLength(3);
    expect([...table.role.subarray(0, 3)]).toStrictEqual([ROLE.bucket, ROLE.count, ROLE.sum]);
  });

  test('a family that changes its type between pages is assigned again', () => {
    const table = new SeriesTable();
    for (const [head, want] of [
      ['# TYPE f summary\n', ['f summary']],
      ['', ['f_count unknown', 'f_sum unknown']],
      ['# TYPE f histogram\n', ['f histogram']],
      ['# TYPE f summary\n', ['f summary']],
      ['# TYPE f_count counter\n', ['f_count counter', 'f_sum unknown']],
    ] as const) {
      const { families } = decodePage(`${head}f_count 1\nf_sum 2\n`, { table });
      expect(families.map(family => `${family.name} ${family.type}`)).toStrictEqual(want);
    }
    expect(table.count).toBe(2);
  });

  test('a gauge that becomes a counter keeps its row and is marked as changed', () => {
    const { table } = decodePage('# TYPE a gauge\n# HELP a one\na 1\n');
    for (const metric of table.metrics) metric.changed = false;
    decodePage('# TYPE a gauge\n# HELP a one\na 2\n', { table });
    expect(table.metrics[0]).toMatchObject({ declared: 'gauge', changed: false });
    decodePage('# TYPE a counter\na 3\n', { table });
    const changed = { declared: 'counter', help: '', hasType: true, changed: true };
    expect(table.metrics[0]).toMatchObject(changed);
    expect(table.count).toBe(1);
  });
});

describe('rows', () => {
  test('labels in another order are the same series', () => {
    const { table } = decodePage('a{b="1",c="2"} 1\n');
    decodePage('a{c="2",b="1"} 5 7\n', { table });
    expect(table.count).toBe(1);
    expect([table.value[0], table.timeMs[0], table.seen[0]]).toStrictEqual([5, 7, 2]);
  });

  test('label values in another spelling are the same series', () => {
    const page = 'a{b="\\t"} 1\na{b="\\\\t"} 2\na{b="\\\\n"} 3\na{b="\\n"} 4\n';
    const { table, report } = decodePage(page);
    expect(report.problems).toStrictEqual([]);
    expect(table.count).toBe(3);
    expect(table.repeats).toMatchObject([{ row: 0, value: 2, line: 2 }]);
  });

  test.each(['a{b="1"} 1\n', 'a{b="1",c=""} 1\n'])(
    'a duplicate label does not match %j',
    before => {
      const { table } = decodePage(before);
      const { problems } = decodePage('a{b="1",b=""} 2\n', { table }).report;
      expect(problems).toMatchObject([{ reason: 'the label "b" occurs twice' }]);
    },
  );

  test('an absent series keeps its row but is not seen', () => {
    const { table } = decodePage('a 1\nb 2\n');
    decodePage('b 3\n', { table });
    expect([...table.seen.subarray(0, 2)]).toStrictEqual([1, 2]);
  });

  test('a duplicate series on a page is repeated, not lost', () => {
    const { table, samples } = decodePage('a 1 10\na 2 20\na{b=""} 3 30\n');
    expect(table.count).toBe(1);
    const repeats = [2, 3].map(n => ({ value: n, timeMs: 10 * n, line: n }));
    expect(table.repeats).toMatchObject(repeats);
    expect(samples).toHaveLength(3);
    expect(decodePage('a 1\n', { table }).table.repeats).toStrictEqual([]);
  });

  test('new rows are reported once', () => {
    const { table } = decodePage('a 1\nb 2\n');
    expect(table.fresh).toStrictEqual([0, 1]);
    table.fresh.length = 0;
    decodePage('a 1\nc 2\nb 3\n', { table });
    expect(table.fresh).toStrictEqual([2]);
  });
});

describe('OpenMetrics', () => {
  const options = { format: 'openmetrics' } as const;
  const check = (page: string, want: readonly string[], ...problems: object[]): void => {
    expect(linesOf(page, options), page).toStrictEqual(want);
    expect(decodePage(page, options).report.problems, page).toStrictEqual(problems);
  };

  test('timestamps are seconds', () => {
    check('a 1 1520879607.789\nb 1 -1.5e0\n# EOF\n', ['a 1 @1520879607789', 'b 1 @-1500']);
  });

  test('a sample without a newline is cut off: its number is not used', () => {
    const { report, table } = decodePage('a 1\nb{namespace="n"} 123456\n# EOF\n', options);
    expect(report.problems).toStrictEqual([]);
    const page = 'a 1\nb{namespace="n"} 123';
    for (const known of [{}, { table }]) {
      expect(linesOf(page, { ...options, ...known })).toStrictEqual(['a 1']);
      const cut = decodePage(page, { ...options, ...known }).report;
      expect(cut).toMatchObject({ samples: 2, badLines: 1, limit: null });
      expect(cut.problems).toStrictEqual([
        { line: 2, column: 1, reason: 'the page is cut off within this line' },
      ]);
    }
    check('a 1\n# EOF', ['a 1']);
  });

  test('text after EOF is ignored and reported', () => {
    check('a 1\n# EOF\n\n \n', ['a 1']);
    const reason = 'the text after `# EOF` is not read';
    check('a 1\n# EOF\n\nb 2\nc 3\n# EOF\n', ['a 1'], { line: 4, column: 1, reason });
  });

  test('an EOF with text after it is a bad line, and ends nothing', () => {
    const bad = { line: 2, column: 1, reason: 'unexpected text after `# EOF`' };
    check('a 1\n# EOF and more\nb 2\n# EOF\n', ['a 1', 'b 2'], bad);
    check('a 1\n# EOF \t\n', ['a 1']);
  });

  test('exemplars', () => {
    const total = (rest: string): string => `# TYPE a counter\na_total 1 ${rest}\n# EOF\n`;
    const shown = '{"labels":{"trace_id":"x","b":"\\n"},"value":0.5,"timestampMs":3250}';
    check(total('2 # {trace_id="x",b="\\n"} 0.5 3.25'), [`a_total 1 @2000 ${shown}`]);
    check(total('# {} NaN'), ['a_total 1 {"labels":{},"value":"NaN"}']);
  });

  test('created lines belong to the counter', () => {
    const page = '# TYPE a counter\na_total{b="c"} 1\na_created{b="c"} 1520430000.123\n# EOF\n';
    const { families, table } = decodePage(page, options);
    expect(families).toHaveLength(1);
    expect([...table.role.subarray(0, 2)]).toStrictEqual([ROLE.scalar, ROLE.created]);
    expect(table.metrics.map(({ name }) => name)).toStrictEqual(['a_total']);
  });
});

describe('limits', () => {
  test('one sample more than allowed ends the page', () => {
    const { report } = decodePage('a 1\nb 2\nc 3\n', { limits: { samples: 2 } });
    const reason = 'more samples than metrics.limits.samples (2)';
    const problems = [{ line: 3, column: 1, reason }];
    expect(report).toMatchObject({ limit: 'samples', samples: 3, problems });
    expect(decodePage('a 1\nb 2\n', { limits: { samples: 2 } }).report.limit).toBeNull();
  });

  test('labels, names and values beyond their limit cost the line, not the page', () => {
    const limits = { labels: 2, nameBytes: 4, valueBytes: 3 };
    const [most, longer] = ['ok{a="123",b="1"} 1', 'okay{a="1",b="2",c="3"} 1'];
    const page = `${most}\n${longer}\nlonger 1\nok{longer="1"} 1\nok{a="1234"} 1\nlast 1\n`;
    expect(linesOf(page, { limits })).toStrictEqual(['ok{"a":"123","b":"1"} 1', 'last 1']);
    expect(decodePage(page, { limits }).report.problems).toMatchObject([
      { line: 2, reason: 'more labels than limits.labels' },
      { line: 3, reason: 'the name is longer than limits.name' },
      { line: 4, reason: 'the name is longer than limits.name' },
      { line: 5, reason: 'a label value is longer than limits.value' },
    ]);
  });
});

describe('slices', () => {
  test('the size of the slices does not matter', () => {
    const page = '# TYPE a counter\na 1\n\nbad line\na{b="c"} 2\n# HELP a text\nlast 3';
    const want = decodePage(page);
    for (const slice of [1, 2, 3, 100]) {
      const { report, families } = decodePage(page, { slice });
      expect({ report, families }).toStrictEqual({ report: want.report, families: want.families });
    }
  });

  test('an empty page is done at once', () => {
    expect(decodePage('').report).toMatchObject({ lines: 0, samples: 0, limit: null });
  });
});

describe('any page', () => {
  /** Lines that are valid, or nearly so. */
  const NOISE = [
    '# TYPE good_series_0',
    '# TYPE x histogram',
    'x_bucket{le="1"} 1',
    '{"',
    'x{a="1",a="2"} 1',
    'x{a="',
    '#',
    '# HELP',
    'x 1 # {a="b"} 1',
    'x{namespace="local} 1',
    '\u0000 1',
    'x 1e9999999999',
    'x 0x1p3',
  ];
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes)),
    fc.constantFrom(...NOISE).map(text => Buffer.from(text)),
    fc
      .string({
        unit: fc.constantFrom(...Array.from('ab{}="\\,# \t\r1.-+eNI_:é\u0000'), '# TYPE '),
      })
      .map(text => Buffer.from(text)),
  );

  test('no bytes cause an exception, and every good line around them is kept', () => {
    const format = fc.constantFrom('text', 'openmetrics');
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 20 }), format, (lines, format) => {
        const texts = lines.flatMap((line, i) => [
          Buffer.from(line.filter(byte => byte !== 0x0a)),
          Buffer.from(`\ngood_series_${i} ${i}.5\n`),
        ]);
        const target = new Target({ metrics: { badShare: 1 } });
        for (const seconds of [0, 60]) {
          const { points, translated } = target.page(seconds, Buffer.concat(texts), { format });
          const kept = new Map(points.map(({ metric, value }) => [metric, value]));
          for (const i of lines.keys()) expect(kept.get(`good_series_${i}`)).toBe(i + 0.5);
          expect(translated.page?.badLines).toBeLessThanOrEqual(lines.length);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('no bytes after an end of page cause an exception', () => {
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 8 }), lines => {
        const page = ['a 1\n# EOF\n', ...lines.flatMap(line => [line, '\n'])];
        const bytes = Buffer.concat(page.map(part => Buffer.from(part)));
        const { samples } = decodePage(bytes.toString('latin1'), { format: 'openmetrics' });
        expect(samples.map(({ name }) => name)).toEqual(['a']);
      }),
    );
  });

  test('label values survive their escapes', () => {
    const label = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(label, value => {
        const escaped = value
          .replaceAll('\\', '\\\\')
          .replaceAll('"', '\\"')
          .replaceAll('\n', '\\n');
        const { samples } = decodePage(`a{b="${escaped}"} 1\n`);
        expect(samples[0]?.labels).toStrictEqual({ b: value });
      }),
    );
  });
});
