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
  const shard = { index: 0, count: 1 };
  const config = { services, elsewhere: [], auto: null, shard, metrics: METRICS };
  return planTargets({ ...config, unconfiguredServices: 'drop' });
}

const OTHER_KEY = { key: new ConfigSecret('other') };
const headers = (region: string): Partial<ApiConfig> => ({
  headers: { 'x-region': new ConfigSecret(region) },
});

test('services behind one address and key share a poll', () => {
  const check = (groups: string[], first: Partial<ApiConfig>, second: Partial<ApiConfig>): void => {
    const targets = plan(service('a', first), service('b', second), service('c', first));
    const ids = targets.map(({ services }) => services.map(({ id }) => id).join(' '));
    expect(ids).toEqual(groups);
    // Each target knows the places of its services in the configuration.
    const places = groups.map(names => names.split(' ').map(name => 'abc'.indexOf(name)));
    expect(targets.map(({ configured }) => [...configured.values()])).toEqual(places);
  };
  check(['a b c'], {}, {});
  check(['a b c'], headers('north'), headers('north'));
  const apart = ['a c', 'b'];
  check(apart, headers('north'), headers('south'));
  check(apart, {}, OTHER_KEY);
  check(apart, {}, { baseUrl: 'https://eu.example.com' });
  check(apart, {}, { timeoutMs: 1 });
  check(apart, {}, { ca: 'PEM' });
  check(apart, {}, { proxy: new ConfigSecret('http://proxy.example.com') });
});

describe('with several shards', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const all = [...ids.map(id => service(id)), service('alone', OTHER_KEY)];

  function planShards(
    unconfiguredServices: Config['unconfiguredServices'],
  ): readonly (readonly Target[])[] {
    const dealt = dealShards([...ids, 'alone'], 3);
    return [0, 1, 2].map(index => {
      const services = all.filter(({ id }) => dealt.get(id) === index);
      const elsewhere = all.filter(({ id }) => dealt.get(id) !== index);
      const config = { services, elsewhere, auto: null, shard: { index, count: 3 } };
      return planTargets({ ...config, unconfiguredServices, metrics: METRICS });
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

test('the name has the address and the services', () => {
  const check = (want: string, ...services: ServiceConfig[]): void =>
    expect(plan(...services).map(({ name }) => name)).toEqual([want]);
  const orders = service('a', {}, 'orders');
  check('api.example.com (orders)', orders);
  check('api.example.com (orders and 2 more)', orders, service('b'), service('c'));
  check('localhost:8080 (a)', service('a', { baseUrl: 'http://localhost:8080/x' }));
});

test('the id survives a changed key and added services, so that state is found again', () => {
  const id = plan(service('a'))[0]?.id;
  expect(id).toMatch(/^[0-9a-f]{16}$/);
  expect(plan(service('a', { key: new ConfigSecret('rotated') }))[0]?.id).toBe(id);
  expect(plan(service('a'), service('b'))[0]?.id).toBe(id);
  expect(plan(service('a', { timeoutMs: 1 }))[0]?.id).toBe(id);
  expect(plan(service('a', { baseUrl: 'https://eu.example.com' }))[0]?.id).not.toBe(id);
  const other = plan(service('a'), service('b', OTHER_KEY));
  expect(new Set(other.map(target => target.id)).size).toBe(2);
});

test('neither id nor name contains a secret', () => {
  const secret = 'canary-key-1';
  const settings = { key: new ConfigSecret(secret), ...headers(secret) };
  expect(JSON.stringify(plan(service('a', settings)))).not.toContain(secret);
});
