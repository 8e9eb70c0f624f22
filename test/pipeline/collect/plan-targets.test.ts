import { describe, expect, test } from 'vitest';
import type {
  ApiConfig,
  Config,
  MetricsConfig,
  ServiceConfig,
} from '../../../src/config/config.ts';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { dealShards } from '../../../src/lib/shard.ts';
import { planTargets, type Target } from '../../../src/pipeline/collect/plan-targets.ts';
import { testApi } from '../../support/test-api.ts';

const METRICS = { path: '/observability/v2/metrics', intervalMs: 60_000 } as MetricsConfig;

function service(id: string, settings: Partial<ApiConfig> = {}, name = id): ServiceConfig {
  return { id, name, attributes: {}, api: testApi('https://api.example.com', settings) };
}

function plan(...services: ServiceConfig[]): readonly Target[] {
  return planTargets({
    services,
    elsewhere: [],
    auto: null,
    shard: { index: 0, count: 1 },
    unconfiguredServices: 'drop',
    metrics: METRICS,
  });
}

function groupsOf(...services: ServiceConfig[]): string[] {
  return plan(...services).map(target => target.services.map(({ id }) => id).join(' '));
}

test('services behind one address and key share a poll', () => {
  expect(groupsOf(service('a'), service('b'), service('c'))).toEqual(['a b c']);
});

test('another address, key, header or proxy makes another target', () => {
  const key = new ConfigSecret('other');
  const north = { headers: { 'x-region': new ConfigSecret('north') } };
  const south = { headers: { 'x-region': new ConfigSecret('south') } };
  const proxy = new ConfigSecret('http://proxy.example.com');
  expect(groupsOf(service('a'), service('b', { key }), service('c'))).toEqual(['a c', 'b']);
  expect(groupsOf(service('a', north), service('b', south), service('c', north))).toEqual([
    'a c',
    'b',
  ]);
  expect(groupsOf(service('a'), service('b', { baseUrl: 'https://eu.example.com' }))).toEqual([
    'a',
    'b',
  ]);
  expect(groupsOf(service('a'), service('b', { timeoutMs: 1 }))).toEqual(['a', 'b']);
  expect(groupsOf(service('a'), service('b', { ca: 'PEM' }))).toEqual(['a', 'b']);
  expect(groupsOf(service('a'), service('b', { proxy }))).toEqual(['a', 'b']);
});

describe('with several shards', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const all = [
    ...ids.map(id => service(id)),
    service('alone', { key: new ConfigSecret('other') }, 'alone'),
  ];

  function planShards(
    unconfiguredServices: Config['unconfiguredServices'],
  ): readonly (readonly Target[])[] {
    const count = 3;
    const dealt = dealShards(
      all.map(({ id }) => id),
      count,
    );
    return [0, 1, 2].map(index => {
      const isOurs = ({ id }: ServiceConfig): boolean => dealt.get(id) === index;
      return planTargets({
        services: all.filter(isOurs),
        elsewhere: all.filter(one => !isOurs(one)),
        auto: null,
        shard: { index, count },
        unconfiguredServices,
        metrics: METRICS,
      });
    });
  }

  test('each polls for its own services, and knows the ids of the others', () => {
    const targets = planShards('drop').flat();
    const taken = targets.flatMap(({ services }) => services.map(({ id }) => id));
    expect(taken.toSorted()).toEqual(all.map(({ id }) => id).toSorted());
    for (const { services, otherShards, name } of targets) {
      expect(services.length).toBeGreaterThan(0);
      const isAlone = name.includes('alone');
      expect(services.length + otherShards.serviceCount, name).toBe(isAlone ? 1 : ids.length);
      for (const { id } of services) expect(otherShards.takes(id)).toBe(false);
    }
  });

  test('each polls for all if unconfigured services are sent, and one takes each', () => {
    const shards = planShards('send');
    expect(shards.map(targets => targets.length)).toEqual([2, 2, 2]);
    for (const stranger of ['x', 'y', 'z']) {
      const takers = shards.filter(([target]) => target?.otherShards.takes(stranger) === false);
      expect(takers).toHaveLength(1);
    }
    const names = shards.flat().map(({ name }) => name);
    expect(names).toContain('api.example.com (services that are not configured)');
  });
});

test('a target knows the places of its services in the configuration', () => {
  const targets = plan(
    service('a'),
    service('b', { key: new ConfigSecret('other') }),
    service('c'),
  );
  expect(targets.map(({ configured }) => [...configured])).toEqual([
    [
      ['a', 0],
      ['c', 2],
    ],
    [['b', 1]],
  ]);
});

test('the name has the address and the services', () => {
  const names = (...services: ServiceConfig[]): string[] =>
    plan(...services).map(({ name }) => name);
  expect(names(service('a', {}, 'orders'))).toEqual(['api.example.com (orders)']);
  expect(names(service('a', {}, 'orders'), service('b'), service('c'))).toEqual([
    'api.example.com (orders and 2 more)',
  ]);
  expect(names(service('a', { baseUrl: 'http://localhost:8080/x' }))).toEqual([
    'localhost:8080 (a)',
  ]);
});

test('the id survives a changed key and added services, so that state is found again', () => {
  const id = plan(service('a'))[0]?.id;
  expect(id).toMatch(/^[0-9a-f]{16}$/);
  expect(plan(service('a', { key: new ConfigSecret('rotated') }))[0]?.id).toBe(id);
  expect(plan(service('a'), service('b'))[0]?.id).toBe(id);
  expect(plan(service('a', { timeoutMs: 1 }))[0]?.id).toBe(id);
  expect(plan(service('a', { baseUrl: 'https://eu.example.com' }))[0]?.id).not.toBe(id);
  const other = plan(service('a'), service('b', { key: new ConfigSecret('other') }));
  expect(new Set(other.map(target => target.id)).size).toBe(2);
});

test('neither id nor name contains a secret', () => {
  const secret = 'canary-key-1';
  const target = plan(
    service('a', { key: new ConfigSecret(secret), headers: { 'x-a': new ConfigSecret(secret) } }),
  )[0];
  expect(JSON.stringify(target)).not.toContain(secret);
});
