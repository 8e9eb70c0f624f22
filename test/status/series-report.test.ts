import { expect, test } from 'vitest';
import {
  labelsText,
  type SeriesReport,
  seriesOf,
  valueText,
} from '../../src/status/series-report.ts';
import { T0, Target } from '../support/target.ts';

const minute = (index: number): string => new Date(T0 + index * 60_000).toISOString();

/** The series after these pages, one minute apart. */
function afterPages(pages: readonly string[], isDelta = false): ReadonlyMap<string, SeriesReport> {
  const target = new Target({ temporality: isDelta ? 'delta' : 'cumulative' });
  for (const [index, page] of pages.entries()) target.page(index * 60, page);
  const shown = seriesOf(target.translation.table);
  return new Map([...shown].map(one => [`${one.name} ${labelsText(one)}`.trim(), one]));
}

const page = (counter: number, gauge: string, count: number): string => `# TYPE c_total counter
c_total{a="1",namespace="local"} ${counter}
# TYPE g gauge
g ${gauge}
# TYPE h histogram
h_bucket{le="1"} ${count}
h_bucket{le="+Inf"} ${count}
h_sum ${count / 2}
h_count ${count}
`;

test('each series has its type, where that came from, its value and its times', () => {
  const series = afterPages([page(5, '1', 2)]);
  expect(series.get('c_total a=1')).toEqual({
    name: 'c_total',
    labels: { a: '1', namespace: 'local' },
    service: 'local',
    family: 'other',
    type: 'sum',
    typeSource: 'declared',
    declared: 'counter',
    unit: '',
    value: 5,
    start: minute(0),
    time: minute(0),
    changed: null,
    outcome: 'used',
  });
  expect(series.get('g')).toMatchObject({ type: 'gauge', start: null, value: 1 });
  // A histogram is one series. The series that prom2otlp adds are not listed.
  expect(series.get('h')).toMatchObject({ type: 'histogram', value: { count: 2, sum: 1 } });
  expect([...series.keys()]).toEqual(['c_total a=1', 'g', 'h']);
});

test('the last change is the time of the sample that changed the value', () => {
  const pages = [page(5, '1', 2), page(6, '1', 2), page(6, '2', 3), page(6, '2', 3)];
  for (const isDelta of [false, true]) {
    const series = afterPages(pages, isDelta);
    expect(series.get('c_total a=1')).toMatchObject({ value: 6, changed: minute(1) });
    expect(series.get('g')).toMatchObject({ value: 2, changed: minute(2) });
    expect(series.get('h')).toMatchObject({ value: { count: 3 }, changed: minute(2) });
  }
  expect(afterPages(pages.slice(0, 1)).get('g')?.changed).toBe(null);
  // A number after NaN is no change from another number.
  const odd = afterPages([page(5, 'NaN', 2), page(5, '7', 2), page(5, '7', 2)]);
  expect(odd.get('g')?.changed).toBe(null);
  expect(odd.get('c_total a=1')?.changed).toBe(null);
});

test('values that JSON does not have are words', () => {
  const text = (gauge: string, name = 'g'): string =>
    valueText(afterPages([page(1, gauge, 4)]).get(name) ?? { value: null });
  expect([text('NaN'), text('+Inf'), text('-Inf'), text('0.5')]).toEqual([
    'NaN',
    '+Inf',
    '-Inf',
    '0.5',
  ]);
  expect(text('1', 'h')).toBe('count 4, sum 2');
  expect(valueText({ value: { count: 4, sum: null } })).toBe('count 4');
  expect(valueText({ value: null })).toBe('');
});

test('only the series of one service, if asked for', () => {
  const target = new Target({ services: ['a', 'b'] });
  target.page(0, 'm{namespace="a"} 1\nm{namespace="b"} 2\nn{namespace="b"} 3\n');
  const names = (id: string): readonly string[] =>
    [...seriesOf(target.translation.table, id)].map(({ name, service }) => `${service} ${name}`);
  expect(names('a')).toEqual(['a m']);
  expect(names('b')).toEqual(['b m', 'b n']);
  expect(names('c')).toEqual([]);
});
