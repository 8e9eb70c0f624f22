import { expect, test } from 'vitest';
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
