// Rule H, and the bytes of points as the oracle decodes them.
import { describe, expect, test } from 'vitest';
import type { ExemplarJson } from '../../../src/pipeline/encode/otlp-fields.ts';
import { at, Target } from '../../support/target.ts';

const TRACE = '0123456789abcdef0123456789ABCDEF';
const SPAN = '0123456789abcdef';

function exemplarOf(text: string): ExemplarJson | undefined {
  const page = `# TYPE x counter\nx_total 5 # ${text}\n# EOF\n`;
  return new Target().page(60, page).points[0]?.exemplars[0];
}

describe('H: exemplars', () => {
  test('H: time, or that of its sample, value, and valid ids', () => {
    const check = (text: string, want: ExemplarJson): void =>
      expect(exemplarOf(text), text).toEqual(want);
    const [own, sample] = [`${at(10) + 125}000000`, `${at(60)}000000`];
    check(`{} 0.5 ${at(10) / 1000}.125`, { timeUnixNano: own, asDouble: 0.5 });
    check('{} 0.5', { timeUnixNano: sample, asDouble: 0.5 });
    // Milliseconds instead of seconds, and a time before 1970.
    for (const time of [at(10), -5])
      check(`{} 0.5 ${time}`, { timeUnixNano: sample, asDouble: 0.5 });
    const ids = { traceId: TRACE.toLowerCase(), spanId: SPAN };
    const labels = `{trace_id="${TRACE}",span_id="${SPAN}"}`;
    check(`${labels} 1`, { timeUnixNano: sample, asDouble: 1, ...ids });
  });

  test('H: an invalid id stays a filtered attribute, as do all other labels', () => {
    const check = (labels: Readonly<Record<string, string>>): void => {
      const text = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
      const exemplar = exemplarOf(`{${text.join(',')}} 1`);
      const attributes = exemplar?.filteredAttributes ?? [];
      expect(
        Object.fromEntries(attributes.map(({ key, value }) => [key, value?.stringValue])),
      ).toEqual(labels);
      expect([exemplar?.traceId, exemplar?.spanId]).toEqual([undefined, undefined]);
    };
    check({ trace_id: TRACE.slice(1), span_id: `${SPAN}0` });
    check({ trace_id: '0'.repeat(32), span_id: '0'.repeat(16) });
    check({ trace_id: `g${TRACE.slice(1)}`, span_id: ''.padEnd(16, 'z') });
    check({ user: 'u', path: '/a' });
  });

  test('H: on buckets of a histogram, each its own', () => {
    const buckets = 'h_bucket{le="1"} 1 # {a="x"} 0.5\nh_bucket{le="+Inf"} 3 # {a="y"} 7\n';
    const page = `# TYPE h histogram\n${buckets}h_count 3\nh_sum 9\n# EOF\n`;
    const [point] = new Target().page(60, page).points;
    expect(point?.exemplars.map(({ asDouble }) => asDouble)).toEqual([0.5, 7]);
  });

  test('H: none with a marker, and none on the next page', () => {
    const target = new Target();
    target.page(0, '# TYPE x counter\nx_total 5 # {a="b"} 1\n# EOF\n');
    const next = target.page(60, '# TYPE x counter\nx_total 6\n# EOF\n');
    for (const { points } of [next, target.fail(120)]) expect(points[0]?.exemplars).toEqual([]);
  });
});

describe('values and times', () => {
  test('every double arrives unchanged', () => {
    const texts = '0.1 -0 1e308 5e-324 9007199254740993 123456789012345678 -1.5e-7'.split(' ');
    const page = texts.map((text, i) => `x{i="${i}"} ${text}\n`).join('');
    const values = new Target().page(60, page).points.map(({ value }) => value);
    expect(values).toEqual(texts.map(Number));
    expect(Object.is(values[1], -0)).toBe(true);
  });

  test('NaN and infinities, as J2 writes them', () => {
    const { points } = new Target().page(60, 'x{i="1"} NaN\nx{i="2"} +Inf\nx{i="3"} -Inf\n');
    expect(points.map(({ value }) => value)).toEqual(['NaN', 'Infinity', '-Infinity']);
  });

  test('times are whole milliseconds, in nanoseconds', () => {
    const [point] = new Target().page(60, `x 1 @1.234\n`).points;
    expect(point?.timeNs).toBe(`${at(1.234)}000000`);
  });
});
