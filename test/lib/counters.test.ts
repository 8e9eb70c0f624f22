import { describe, expect, test } from 'vitest';
import { COUNTER_SERIES_MAX, Counters, renderCounters } from '../../src/lib/counters.ts';

const GROUP = {
  plain: { name: 'b', help: 'Plain.' },
  labelled: { name: 'a_total', help: 'Back\\slash\nand "more".', labels: ['path'] },
} as const;

test('the text format names each counter once, with help, type and labels', () => {
  const counters = new Counters();
  const { plain, labelled } = counters.of(GROUP);
  labelled.add(1, 'x');
  labelled.add(2, 'x');
  labelled.add(1, 'quote " and \\ and \n');
  plain.set(-0.5);
  expect(renderCounters(counters)).toBe(
    [
      '# HELP b Plain.',
      '# TYPE b gauge',
      'b -0.5',
      '# HELP a_total Back\\\\slash\\nand "more".',
      '# TYPE a_total counter',
      'a_total{path="x"} 3',
      'a_total{path="quote \\" and \\\\ and \\n"} 1',
      '',
    ].join('\n'),
  );
});

test('all callers count in the same counters', () => {
  const counters = new Counters();
  counters.of(GROUP).labelled.add(1, 'x');
  counters.of(GROUP).labelled.add(1, 'x');
  expect(counters.list().map(({ name }) => name)).toEqual(['b', 'a_total']);
  expect(counters.of(GROUP).labelled.get('x')).toBe(2);
});

test('beyond the bound, combinations of label values are counted together', () => {
  const { a } = new Counters().of({ a: { name: 'a_total', help: 'A.', labels: ['x', 'y'] } });
  for (let i = 0; i < COUNTER_SERIES_MAX + 5; i++) a.add(1, String(i), 'y');
  expect(a.series).toHaveLength(COUNTER_SERIES_MAX + 1);
  expect(a.get('other', 'other')).toBe(5);
});

describe('a number that is looked up', () => {
  test('is read at the moment of the export', () => {
    const counters = new Counters();
    let value = 1;
    const { plain } = counters.of(GROUP);
    plain.follow(() => value);
    expect(plain.get()).toBe(1);
    value = 2;
    expect(plain.get()).toBe(2);
    expect(renderCounters(counters)).toContain('\nb 2\n');
  });

  test('may have labels', () => {
    const counters = new Counters();
    const { labelled } = counters.of(GROUP);
    labelled.follow(() => [{ labelValues: ['metrics'], value: 3 }]);
    expect([labelled.get('metrics'), labelled.get('logs')]).toEqual([3, 0]);
    expect(renderCounters(counters)).toContain('a_total{path="metrics"} 3');
  });
});
