// The catalog holds exactly the series of the specification, each with facts that fit together.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CATALOG, CATALOG_TABLES } from '../../src/catalog/all.ts';
import type { CatalogEntry } from '../../src/catalog/catalog.ts';

const fixture = new URL('../fixtures/series-names.txt', import.meta.url);
const specified = readFileSync(fixture, 'utf8').trimEnd().split('\n');
const byName = new Map(CATALOG.map(entry => [entry.name, entry]));

describe('the catalog as a whole', () => {
  test('holds the 160 names of the specification, each once', () => {
    expect(specified).toHaveLength(160);
    expect(CATALOG.map(entry => entry.name).sort()).toEqual([...specified].sort());
  });

  test('keeps every table within one family and one prefix', () => {
    for (const { entries, title } of CATALOG_TABLES) {
      expect(new Set(entries.map(entry => entry.family)).size, title).toBe(1);
    }
  });

  test('dates every counter, and only counters, by an uptime of its own family', () => {
    for (const entry of CATALOG) {
      const uptime = byName.get(entry.uptimeSeries ?? '');
      expect(entry.uptimeSeries !== null, entry.name).toBe(entry.type === 'counter');
      if (entry.type !== 'counter') continue;
      expect(uptime, entry.name).toMatchObject({ family: entry.family, type: 'gauge', unit: 's' });
    }
  });

  test('makes only up-down counters additive', () => {
    const additive = CATALOG.filter(entry => entry.isAdditive);
    expect(new Set(additive.map(entry => entry.type))).toEqual(new Set(['updowncounter']));
  });

  test('describes every series in one short, unique line', () => {
    for (const { name, description } of CATALOG) {
      expect(description, name).toMatch(/^[A-Z0-9].{8,90}\.$/u);
    }
    expect(new Set(CATALOG.map(entry => entry.description)).size).toBe(CATALOG.length);
  });

  test('has units in UCUM form', () => {
    const plain = new Set(['1', 's', 'ms', 'ns', 'By', '%']);
    for (const { name, unit } of CATALOG) {
      expect(plain.has(unit) || /^\{[a-z]+\}(\/s)?$/u.test(unit), `${name}: ${unit}`).toBe(true);
    }
  });
});

test('the catalog corrects series with misleading names or declarations', () => {
  const check = (name: string, want: Partial<CatalogEntry>): void => {
    expect(byName.get(name), name).toMatchObject(want);
  };
  // They are declared gauge, but only grow.
  check('engine_global_status_queries', { type: 'counter', declared: 'gauge' });
  check('proxy_server_routed_packets', { type: 'counter', declared: 'gauge' });
  check('proxy_threads_total_descriptors', { type: 'counter', declared: 'gauge' });
  // Their names sound like counters or totals.
  check('engine_info_schema_engine_table_count_total', { type: 'updowncounter' });
  check('engine_global_status_wsrep_last_committed', { type: 'gauge' });
  check('engine_slave_status_exec_master_log_pos', { type: 'gauge' });
  check('proxy_server_max_connections', { type: 'gauge' });
  // Their parts overlap, or every member repeats them: a sum has no meaning.
  check('engine_global_status_buffer_pool_pages', { type: 'updowncounter', isAdditive: false });
  check('engine_global_status_threads_running', { type: 'updowncounter', isAdditive: false });
  check('engine_info_schema_table_size', { type: 'updowncounter', isAdditive: false });
  check('engine_dist_cluster_total_nodes', { type: 'updowncounter', isAdditive: false });
  check('engine_global_status_wsrep_cluster_size', { type: 'gauge' });
  // These do add up.
  check('engine_global_status_threads_connected', { type: 'updowncounter', isAdditive: true });
  check('proxy_server_connections', { type: 'updowncounter', isAdditive: true });
  // One number for a state, and an info series.
  check('engine_global_status_wsrep_local_state', { type: 'stateset' });
  check('engine_multimaster_status_info', { type: 'info' });
});
