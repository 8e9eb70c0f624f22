// Rule I4: the series that prom2otlp adds per service and scrape.
import { describe, expect, test } from 'vitest';
import { outcomeOf, type Seen, Target } from '../../support/target.ts';

/** The values of up, of duration, samples, samples that are kept, series added, and bytes. */
const valuesOf = (seen: Seen, id = 'local'): readonly unknown[] =>
  'up scrape_duration_seconds scrape_samples_scraped scrape_samples_post_metric_relabeling scrape_series_added scrape_body_size_bytes'
    .split(' ')
    .map(name => seen.own.find(point => point.metric === name && point.serviceId === id)?.value);

describe('I4: per service and scrape', () => {
  test('I4: six series, as gauges without a start, in the scope for names without a family', () => {
    const text = 'x 1\ny 2\nz{a="b"} 3\n';
    const seen = new Target({ metrics: { exclude: [/^y$/] } }).page(60, text);
    expect(valuesOf(seen)).toEqual([1, 0.25, 3, 2, 3, text.length]);
    const shared = { type: 'gauge', startNs: '0', scope: 'prom2otlp/other', attributes: '' };
    expect(seen.own).toMatchObject(Array.from({ length: 6 }, () => shared));
  });

  test('I4: sent even if the scrape fails', () => {
    const target = new Target({ services: ['a', 'b'] });
    target.page(0, 'x{namespace="a"} 1');
    const seen = target.fail(60, 'timeout');
    for (const id of ['a', 'b']) expect(valuesOf(seen, id)).toEqual([0, 0.25, 0, 0, 0, 0]);
    expect(seen.own).toHaveLength(12);
    expect(outcomeOf(seen, 'a')).toMatchObject({ isUp: false, reason: 'timeout' });
  });

  test('I4: only new series count as added', () => {
    const target = new Target();
    for (const [seconds, text, added] of [
      [0, 'x 1\ny 1', 2],
      [60, 'x 1\ny 1', 0],
      [120, 'x 1\ny 1\nz 1', 1],
    ] as const)
      expect(valuesOf(target.page(seconds, text))[4]).toBe(added);
  });

  test('I4: two scrapes within a millisecond follow each other', () => {
    const target = new Target();
    target.page(60, 'x 1');
    const again = target.page(60, 'x 1');
    expect(again.own.every(({ timeNs }) => timeNs.endsWith('001000000'))).toBe(true);
  });
});
