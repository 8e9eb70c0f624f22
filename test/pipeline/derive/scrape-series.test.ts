// Rule I4: the series that prom2otlp adds per service and scrape.
import { describe, expect, test } from 'vitest';
import { outcomeOf, type Seen, Target } from '../../support/target.ts';

const values = (seen: Seen): Record<string, unknown> =>
  Object.fromEntries(seen.own.map(({ metric, value }) => [metric, value]));

describe('I4: per service and scrape', () => {
  test('I4: six series, as gauges without a start, in the scope for names without a family', () => {
    const text = 'x 1\ny 2\nz{a="b"} 3\n';
    const seen = new Target({ metrics: { exclude: [/^y$/] } }).page(60, text);
    expect(values(seen)).toEqual({
      up: 1,
      scrape_duration_seconds: 0.25,
      scrape_samples_scraped: 3,
      scrape_samples_post_metric_relabeling: 2,
      scrape_series_added: 3,
      scrape_body_size_bytes: text.length,
    });
    for (const point of seen.own)
      expect(point).toMatchObject({
        type: 'gauge',
        startNs: '0',
        scope: 'prom2otlp/other',
        attributes: '',
      });
  });

  test('I4: sent even if the scrape fails', () => {
    const target = new Target({ services: ['a', 'b'] });
    target.page(0, 'x{namespace="a"} 1');
    const seen = target.fail(60, 'timeout');
    expect(
      seen.own.map(({ metric, serviceId, value }) => `${serviceId} ${metric} ${String(value)}`),
    ).toEqual(
      ['a', 'b'].flatMap(id => [
        `${id} up 0`,
        `${id} scrape_duration_seconds 0.25`,
        `${id} scrape_samples_scraped 0`,
        `${id} scrape_samples_post_metric_relabeling 0`,
        `${id} scrape_series_added 0`,
        `${id} scrape_body_size_bytes 0`,
      ]),
    );
    expect(outcomeOf(seen, 'a')).toMatchObject({ isUp: false, reason: 'timeout' });
  });

  test('I4: only new series count as added', () => {
    const target = new Target();
    const added = (seconds: number, text: string): unknown =>
      values(target.page(seconds, text))['scrape_series_added'];
    expect([
      added(0, 'x 1\ny 1\n'),
      added(60, 'x 1\ny 1\n'),
      added(120, 'x 1\ny 1\nz 1\n'),
    ]).toEqual([2, 0, 1]);
  });

  test('I4: two scrapes within a millisecond follow each other', () => {
    const target = new Target();
    target.page(60, 'x 1');
    const again = target.page(60, 'x 1');
    expect(again.own.every(({ timeNs }) => timeNs.endsWith('001000000'))).toBe(true);
  });
});
