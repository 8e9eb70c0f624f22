import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/load.ts';
import { SeriesBudget } from '../../../src/pipeline/derive/options.ts';
import { Target, type Seen, type TargetOptions } from '../../support/target.ts';

function see(text: string, options: TargetOptions): Seen {
  return new Target(options).page(0, text);
}

/** `a` belongs to this shard; `b` (configured) and `z` (unconfigured) belong to another shard. */
const SHARD: TargetOptions = {
  services: ['a'],
  otherShards: { serviceCount: 1, takes: id => id === 'b' || id === 'z' },
};

const PAGE = ['a', 'b', 'y', 'z'].map(id => `x{namespace="${id}"} 1`).join('\n');

test('services of another shard are counted, and neither sent nor treated as unconfigured', () => {
  const dropped = see(PAGE, SHARD);
  expect(dropped.points.map(({ serviceId }) => serviceId)).toEqual(['a']);
  expect(dropped.reads).toEqual({ used: 1, other_shard: 2, unconfigured: 1 });
  expect(dropped.translated.derived.services.map(({ id }) => id)).toEqual(['a']);
});

test('a service without configuration is sent by one shard alone', () => {
  const sent = see(PAGE, { ...SHARD, unconfigured: 'send' });
  expect(sent.points.map(({ serviceId }) => serviceId)).toEqual(['a', 'y']);
  expect(sent.reads).toEqual({ used: 2, other_shard: 2 });
});

test('a page without namespaces belongs to no service while another shard shares it', () => {
  expect(see('x 1', SHARD).reads).toEqual({ unconfigured: 1 });
  const alone = { services: ['a'], otherShards: { serviceCount: 0, takes: () => false } };
  expect(see('x 1', alone).reads).toEqual({ used: 1 });
});

describe('a service without an entry that two targets see', () => {
  const HOUR_S = 3600;
  const shared = (temporality?: 'delta') => {
    const budget = new SeriesBudget(defaultConfig().metrics.limits);
    const of = (services: string[]) =>
      new Target({
        services,
        unconfigured: 'send',
        budget,
        ...(temporality === undefined ? {} : { temporality }),
      });
    return [of(['a']), of(['b'])] as const;
  };
  const y = (value: number): string => `# TYPE x counter\nx{namespace="y"} ${value}\n`;

  test('is sent by the first that had it, until that one has not had it for an hour', () => {
    const [first, second] = shared();
    expect(second.page(0, y(1)).points).toHaveLength(1);
    for (const seconds of [1, HOUR_S, 2 * HOUR_S]) {
      expect(first.page(seconds, y(seconds)).reads).toEqual({ unconfigured: 1 });
      expect(second.page(seconds, y(seconds)).points).toHaveLength(1);
    }
    second.page(2 * HOUR_S + 60, 'z 1');
    expect(first.page(2 * HOUR_S + 60, y(8000)).points).toEqual([]);
    second.page(4 * HOUR_S, 'z 1');
    expect(first.page(4 * HOUR_S, y(9000)).points).toHaveLength(1);
    expect(second.page(4 * HOUR_S, y(9000)).reads).toEqual({ unconfigured: 1 });
    expect(first.page(5 * HOUR_S, y(9001)).points).toHaveLength(1);
  });

  test('has no growth twice when the other one takes over', () => {
    const [first, second] = shared('delta');
    first.page(0, y(1));
    expect(first.page(60, y(5)).shown).toEqual(['delta x{} 4 @60 from 0']);
    second.page(60, y(5));
    for (const seconds of [120, 180 + HOUR_S]) first.page(seconds, 'z 1');
    expect(second.page(2 * HOUR_S, y(15)).shown).toEqual([]);
    expect(second.page(2 * HOUR_S + 60, y(16)).shown).toEqual(['delta x{} 1 @7260 from 7200']);
  });
});
