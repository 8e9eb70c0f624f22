// The catalog holds exactly the series of the specification, each with facts that fit together.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/catalog/all.ts';
import type { CatalogEntry } from '../../src/catalog/catalog.ts';

const fixture = new URL('../fixtures/series-names.txt', import.meta.url);
const specified = readFileSync(fixture, 'utf8').trimEnd().split('\n');
const byName = new Map(CATALOG.map(entry => [entry.name, entry]));

describe('the catalog as a whole', () => {
  test('holds the 160 names of the specification, each once', () => {
    expect(specified).toHaveLength(160);
    expect(CATALOG.map(entry => entry.name).sort()).toEqual([...specified].sort());
  });

  test('dates every counter, and only counters, by an uptime of its own family', () => {
    for (const entry of CATALOG) {
      const uptime = byName.get(entry.uptimeSeries ?? '');
      expect(entry.uptimeSeries !== null, entry.name).toBe(entry.type === 'counter');
      if (entry.type !== 'counter') continue;
      expect(uptime, entry.name).toMatchObject({ family: entry.family, type: 'gauge', unit: 's' });
    }
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

test.each<[why: string, type: CatalogEntry['type'], names: string]>([
  [
    'is declared gauge, but only grows',
    'counter',
    'engine_global_status_queries proxy_server_routed_packets proxy_threads_total_descriptors',
  ],
  [
    'sounds like a counter or a total',
    'gauge',
    'engine_info_schema_engine_table_count_total engine_global_status_wsrep_last_committed ' +
      'engine_slave_status_exec_master_log_pos proxy_server_max_connections',
  ],
  [
    'has parts that overlap, or that every member repeats: a sum has no meaning',
    'gauge',
    'engine_global_status_buffer_pool_pages engine_global_status_threads_running ' +
      'engine_info_schema_table_size engine_dist_cluster_total_nodes ' +
      'engine_global_status_wsrep_cluster_size',
  ],
  ['adds up', 'updowncounter', 'engine_global_status_threads_connected proxy_server_connections'],
  ['is one number for a state', 'stateset', 'engine_global_status_wsrep_local_state'],
  ['only has labels', 'info', 'engine_multimaster_status_info'],
])('what %s is a %s', (_, type, names) => {
  for (const name of names.split(' ')) expect(byName.get(name)?.type, name).toBe(type);
});
