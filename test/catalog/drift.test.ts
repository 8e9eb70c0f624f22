import { describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/catalog/all.ts';
import { DRIFT_ITEMS_MAX, driftOf, type FamilyDrift } from '../../src/catalog/drift.ts';
import { createCatalogLookup } from '../../src/catalog/lookup.ts';
import type { DeclaredType, Family } from '../../src/model/metric.ts';

const lookup = createCatalogLookup({
  engine: ['engine_', 'mysql_'],
  multimaster: ['engine_multimaster_'],
  dist: ['engine_dist_'],
  proxy: ['proxy_'],
});

function namesOf(family: Family): string[] {
  return CATALOG.filter(entry => entry.family === family).map(entry => entry.name);
}

function drift(names: readonly string[], types: Record<string, DeclaredType> = {}) {
  const declared = names.map(name => [name, types[name] ?? 'unknown'] as const);
  return driftOf(lookup, new Map(declared));
}

function only(family: Family, names: readonly string[]): FamilyDrift {
  const drifts = drift(names);
  expect([...drifts.keys()]).toEqual([family]);
  return drifts.get(family) ?? expect.fail(`no drift of ${family}`);
}

const NOTHING = { count: 0, items: [] };
const CALM = { appeared: NOTHING, vanished: NOTHING, contradicted: NOTHING, mangled: NOTHING };

describe('drift', () => {
  test('is empty for the catalog itself, in every family', () => {
    const drifts = drift(CATALOG.map(entry => entry.name));
    expect([...drifts.keys()].sort()).toEqual('dist engine multimaster process proxy'.split(' '));
    for (const found of drifts.values()) expect(found).toEqual(CALM);
  });

  test('names the series that appeared and disappeared', () => {
    const rest = namesOf('proxy').filter(name => name !== 'proxy_threads_reads');
    expect(only('proxy', [...rest, 'proxy_new'])).toEqual({
      ...CALM,
      appeared: { count: 1, items: ['proxy_new'] },
      vanished: { count: 1, items: ['proxy_threads_reads'] },
    });
  });

  test('does not report a whole missing table, such as replica status on a server that is no replica', () => {
    const others = namesOf('engine').filter(name => !name.startsWith('engine_slave_status_'));
    expect(only('engine', others)).toEqual(CALM);
    const found = only('engine', [...others, 'engine_slave_status_relay_log_pos']);
    expect(found.vanished.count).toBe(7);
  });

  test('treats a mapped name as the catalog name', () => {
    const mapped = namesOf('engine').map(name => name.replace('engine_', 'mysql_'));
    expect(only('engine', mapped)).toEqual(CALM);
  });

  test('counts a damaged name neither as appeared nor as disappeared', () => {
    const damaged = namesOf('dist').map(name => name.replace('stats_', 'sta'));
    const found = only('dist', damaged);
    expect(found).toMatchObject({ appeared: NOTHING, vanished: NOTHING, mangled: { count: 14 } });
    expect(found.mangled.items).toContainEqual({
      name: 'engine_dist_staCom_insert',
      original: 'engine_dist_stats_Com_insert',
    });
  });

  test('reports a contradicted type only if it differs from a known type', () => {
    const check = (name: string, declared: DeclaredType, isContradicted: boolean): void => {
      const found = drift([name], { [name]: declared }).get(lookup.familyOf(name));
      const items = isContradicted ? [{ name, declared }] : [];
      expect(found?.contradicted.items, `${name} ${declared}`).toEqual(items);
    };
    // The service's usual misdeclarations are known.
    check('engine_global_status_queries', 'gauge', false);
    check('engine_global_status_queries', 'unknown', false);
    check('engine_global_status_queries', 'counter', false);
    check('proxy_modules', 'gauge', false);
    check('proxy_modules', 'info', false);
    check('unheard_of', 'histogram', false);
    // A series that is always a counter, and one that can never be one.
    check('engine_global_status_commands_total', 'gauge', true);
    check('engine_global_status_commands_total', 'unknown', false);
    check('engine_global_status_threads_running', 'counter', true);
    check('engine_global_status_uptime', 'counter', true);
    check('engine_dist_qps', 'histogram', true);
    check('engine_up', 'stateset', true);
  });

  test('lists a bounded number of items and counts them all', () => {
    const names = Array.from({ length: DRIFT_ITEMS_MAX + 7 }, (_, i) => `proxy_new_${i}`);
    const { appeared } = only('proxy', names);
    expect([appeared.count, appeared.items.length]).toEqual([DRIFT_ITEMS_MAX + 7, DRIFT_ITEMS_MAX]);
    expect(appeared.items[0]).toBe('proxy_new_0');
  });
});
