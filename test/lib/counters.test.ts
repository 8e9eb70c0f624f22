import { describe, expect, test } from 'vitest';
import { COUNTER_SERIES_MAX, Counters, renderCounters } from '../../src/lib/counters.ts';

test('the text format names each counter once, with help, type and labels', () => {
  const counters = new Counters();
  const requests = counters.counter('a_total', 'Back\\slash\nand "more".', ['path']);
  requests.add(1, 'x');
  requests.add(2, 'x');
  requests.add(1, 'quote " and \\ and \n');
  counters.gauge('b', 'Plain.').set(-0.5);
  expect(renderCounters(counters)).toBe(
    [
      '# HELP a_total Back\\\\slash\\nand "more".',
      '# TYPE a_total counter',
      'a_total{path="x"} 3',
      'a_total{path="quote \\" and \\\\ and \\n"} 1',
      '# HELP b Plain.',
      '# TYPE b gauge',
      'b -0.5',
      '',
    ].join('\n'),
  );
});

test('a name registered twice is one counter', () => {
  const counters = new Counters();
  counters.counter('a_total', 'A.').add(1);
  counters.counter('a_total', 'Another.').add(1);
  expect(counters.list().map(counter => [counter.help, counter.get()])).toEqual([['A.', 2]]);
});

test('beyond the bound, label tuples are counted together', () => {
  const counter = new Counters().counter('a_total', 'A.', ['x', 'y']);
  for (let i = 0; i < COUNTER_SERIES_MAX + 5; i++) counter.add(1, String(i), 'y');
  expect(counter.series.size).toBe(COUNTER_SERIES_MAX + 1);
  expect(counter.get('other', 'other')).toBe(5);
});

describe('a callback value', () => {
  test('is read at the moment of the export', () => {
    const counters = new Counters();
    let value = 1;
    const counter = counters.gauge('a', 'A.');
    counter.follow(() => value);
    expect(counter.get()).toBe(1);
    value = 2;
    expect(counter.get()).toBe(2);
    expect(renderCounters(counters)).toContain('\na 2\n');
  });

  test('may have labels', () => {
    const counters = new Counters();
    const counter = counters.gauge('a', 'A.', ['signal']);
    counter.follow(() => [{ labelValues: ['metrics'], value: 3 }]);
    expect([counter.get('metrics'), counter.get('logs')]).toEqual([3, 0]);
    expect(renderCounters(counters)).toContain('a{signal="metrics"} 3');
  });
});
