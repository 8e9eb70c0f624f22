// Rules A6 and A7 per service, and the account: every sample line of a page has one outcome.
import { describe, expect, test } from 'vitest';
import { outcomeOf, type Seen, Target } from '../../support/target.ts';

const total = (seen: Seen): number =>
  Object.values(seen.reads).reduce((sum, count) => sum + count, 0);
const good = (namespace: string, count: number): string =>
  Array.from({ length: count }, (_, i) => `x{namespace="${namespace}",i="${i}"} 1\n`).join('');
const bad = (namespace: string, count: number): string =>
  `x{namespace="${namespace}"} 1,5\n`.repeat(count);

describe('A6: bad lines of one service', () => {
  test('A6: a service fails with more than the configured share of bad lines, by default half', () => {
    expect(outcomeOf(new Target().page(0, 'x 1\ny 1,5'))).toMatchObject({ isUp: true });
    const target = new Target({ metrics: { badShare: 0.1 } });
    expect(outcomeOf(target.page(0, 'x 1\ny 1\nz 1,5'))).toMatchObject({ reason: 'bad_lines' });
  });

  test('A6: a bad exemplar costs neither its sample nor its service', () => {
    const counters = ['1', '2', '3'].map(i => `x_total{i="${i}"} 1 # {b=c} 2\n`).join('');
    const seen = new Target().page(0, `# TYPE x counter\n${counters}y 1,5\n# EOF`);
    expect(outcomeOf(seen)).toMatchObject({ isUp: true, badLines: 1, samples: 3 });
    expect(seen.reads).toEqual({ used: 3, bad_line: 1 });
    expect(total(seen)).toBe(seen.translated.page?.samples);
    expect(seen.translated.page?.problems).toHaveLength(4);
  });

  test('A6: bad lines that name no service belong to the only service, or to none', () => {
    const lines = 'x 1,5\ny 1,5\nz 1\n';
    const alone = outcomeOf(new Target().page(0, lines));
    expect(alone).toMatchObject({ reason: 'bad_lines', badLines: 2 });
    const target = new Target({ services: ['a', 'b'] });
    const { services, reads } = target.page(0, lines + good('a', 1) + good('b', 1)).translated
      .derived;
    expect(services.map(({ isUp }) => isUp)).toEqual([true, true]);
    expect(reads).toContainEqual({ service: '', outcome: 'bad_line', count: 2 });
  });

  test('A6: a service without a readable line has bad lines and is not absent', () => {
    const target = new Target({ services: ['a'] });
    target.page(0, good('a', 1));
    expect(outcomeOf(target.page(60, bad('a', 2)), 'a')).toMatchObject({ reason: 'bad_lines' });
  });
});

describe('the account', () => {
  test('every sample line of a page has one outcome, in the account of its service', () => {
    const target = new Target({ services: ['a', 'b'] });
    const page = (seconds: number): string =>
      [
        good('a', 2),
        `y{namespace="a"} 1 @${seconds}\ny{namespace="a"} 1 @${seconds}\n`,
        'z{namespace="b"} 1 @99999\n',
        `# TYPE h histogram\nh_count{namespace="b"} 2\nh_bucket{namespace="b",le="1"} 9\n`,
        `target_info{namespace="b",x="y"} 1\n`,
        good('unknown', 2),
        bad('b', 1),
        'no 1,5\n',
      ].join('');
    for (const seconds of [0, 60, 120]) {
      const seen = target.page(seconds, page(seconds));
      expect(total(seen)).toBe(seen.translated.page?.samples);
    }
    expect(target.fail(180).reads).toEqual({});
  });

  test('points made are those of the batch, service by service', () => {
    const target = new Target({ services: ['a', 'b'] });
    const page = `${good('a', 2)}# TYPE h histogram\nh_bucket{namespace="b",le="1"} 1\nh_count{namespace="b"} 2\n`;
    for (const seen of [target.page(0, page), target.page(60, good('a', 1)), target.fail(120)]) {
      const { services } = seen.translated.derived;
      expect(services.map(({ id, points }) => [id, points])).toEqual(
        seen.translated.batch.parts.map(({ service, points }) => [service, points]),
      );
    }
  });
});
