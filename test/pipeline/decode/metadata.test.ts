import { describe, expect, test } from 'vitest';
import type { ExpositionFormat } from '../../../src/model/page.ts';
import { ROLE, SeriesTable } from '../../../src/model/series-table.ts';
import { PageMetadata } from '../../../src/pipeline/decode/metadata.ts';

const ROLE_NAMES = Object.fromEntries(Object.entries(ROLE).map(([name, role]) => [role, name]));

function metadataOf(
  format: ExpositionFormat,
  lines: readonly string[],
  table = new SeriesTable(),
): PageMetadata {
  const metadata = new PageMetadata(table, format);
  for (const [i, line] of lines.entries()) metadata.readLine(line, i + 1);
  return metadata;
}

/** `metric (role)` of a sample name under the given comment lines. */
function placeOf(format: ExpositionFormat, lines: readonly string[], name: string): string {
  const table = new SeriesTable();
  const { metric, role } = metadataOf(format, lines, table).placeOf(name);
  const { name: metricName = '', familyName = '' } = table.metrics[metric] ?? {};
  return `${familyName}/${metricName} ${ROLE_NAMES[role]}`;
}

describe('a sample name finds its family', () => {
  /** `names`: sample names, each with its place unless it is a scalar with its own name. */
  const check = (type: string, names: string, format: ExpositionFormat = 'text'): void => {
    for (const one of names.split(', ')) {
      const [name = '', want = `${name}/${name} scalar`] = one.split(' is ');
      expect(placeOf(format, [`# TYPE a ${type}`], name), `${name} of a ${type}`).toBe(want);
    }
  };

  test('histograms', () => {
    check('histogram', 'a_bucket is a/a bucket, a_count is a/a count, a_sum is a/a sum');
    check('histogram', 'a_created is a/a created, a, a_total, ab_count');
  });

  test('gauge histograms, with and without the g', () => {
    for (const part of ['bucket', 'gcount', 'gsum', 'count'])
      check('gaugehistogram', `a_${part} is a/a gaugePart`, 'openmetrics');
    check('gauge_histogram', 'a_sum is a/a gaugePart');
  });

  test('summaries', () => {
    check('summary', 'a is a/a quantile, a_count is a/a count, a_sum is a/a sum');
    check('summary', 'a_created is a/a created, a_bucket');
  });

  test('counters have suffixes only in OpenMetrics', () => {
    check('counter', 'a, a_total, a_created');
    check('counter', 'a_total is a/a_total scalar, a_created is a/a_total created', 'openmetrics');
  });

  test('infos have suffixes only in OpenMetrics', () => {
    check('info', 'a_info is a/a_info scalar', 'openmetrics');
    for (const type of ['stateset', 'unknown']) check(type, 'a', 'openmetrics');
  });

  test('a name with its own TYPE is its own family', () => {
    const lines = ['# TYPE a histogram', '# TYPE a_count counter'];
    expect(placeOf('text', lines, 'a_count')).toBe('a_count/a_count scalar');
    expect(placeOf('text', lines, 'a_sum')).toBe('a/a sum');
  });

  test('only one suffix is removed', () => {
    check('histogram', 'a_sum_count');
    expect(placeOf('text', ['# TYPE a_sum histogram'], 'a_sum_count')).toBe('a_sum/a_sum count');
  });
});

describe('comment lines', () => {
  const check = (format: ExpositionFormat, line: string, want: object | undefined): void => {
    const family = metadataOf(format, ['', line]).families.get('a');
    expect(family, line).toStrictEqual(
      want === undefined ? undefined : { line: 2, type: null, help: null, unit: null, ...want },
    );
  };

  test('HELP, TYPE and UNIT, with any blanks', () => {
    check('text', '# HELP a some text ', { help: 'some text ' });
    check('text', '#HELP a text', { help: 'text' });
    check('text', '#\t HELP \t a \t text', { help: 'text' });
    check('text', '# HELP a', { help: '' });
    check('text', '# TYPE a counter', { type: 'counter' });
    check('text', '#TYPE a untyped', { type: 'unknown' });
    check('text', '# TYPE "a" gauge ', { type: 'gauge' });
    check('openmetrics', '# UNIT a seconds', { unit: 'seconds' });
    check('openmetrics', '# TYPE a stateset', { type: 'stateset' });
  });

  test('escapes in HELP are decoded; only OpenMetrics escapes quotes', () => {
    check('text', '# HELP a b\\\\c\\nd\\"e\\f', { help: 'b\\c\nd\\"e\\f' });
    check('text', '# HELP a b\\\\"c\\\\n', { help: 'b\\"c\\n' });
    check('openmetrics', '# HELP a b\\\\c\\nd\\"e\\f', { help: 'b\\c\nd"e\\f' });
  });

  test('other comments are ignored', () => {
    check('text', '# a comment about a', undefined);
    check('text', '# HELPFUL a', undefined);
    check('text', '# UNIT a seconds', undefined);
    check('text', '# HELP', undefined);
    check('text', '#', undefined);
  });

  test('quoted family names', () => {
    const metadata = metadataOf('text', ['# TYPE "a.b \\"c\\"" gauge']);
    expect([...metadata.families.keys()]).toStrictEqual(['a.b "c"']);
  });

  test('the first line of a kind wins', () => {
    const words = ['HELP a one', 'HELP a two', 'TYPE a counter', 'TYPE a gauge', 'UNIT a b'];
    const lines = [...words, 'UNIT a c'].map(line => `# ${line}`);
    const want = { line: 1, type: 'counter', help: 'one', unit: 'b' };
    expect(metadataOf('openmetrics', lines).families.get('a')).toStrictEqual(want);
  });

  test('a type that the format lacks is reported and counts as unknown', () => {
    const table = new SeriesTable();
    const metadata = new PageMetadata(table, 'text');
    expect(metadata.readLine('# TYPE a constructor', 1)).toBe(
      'the format has no type "constructor"',
    );
    expect(metadata.readLine('# TYPE b info', 2)).toBe('the format has no type "info"');
    expect(metadata.families.get('b')?.type).toBe('unknown');
    expect(new PageMetadata(table, 'openmetrics').readLine('# TYPE a Counter', 1)).toBe(
      'the format has no type "Counter"',
    );
  });

  test('EOF ends an OpenMetrics page and no other', () => {
    expect(metadataOf('openmetrics', ['# EOF']).hasEnded).toBe(true);
    expect(metadataOf('openmetrics', ['# EOFX']).hasEnded).toBe(false);
    expect(metadataOf('text', ['# EOF']).hasEnded).toBe(false);
  });
});
