// The catalog holds exactly the series of the specification, and those of the host, the volume and the service that newer
// deployments have, each with facts that fit together.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/catalog/all.ts';
import { HOST_TABLES } from '../../src/catalog/host.ts';
import type { CatalogEntry } from '../../src/catalog/catalog.ts';

const namesIn = (file: string): string[] =>
  readFileSync(new URL(`../fixtures/${file}`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
const specified = namesIn('series-names.txt');
const ofHost = namesIn('host-series-names.txt');
const byName = new Map(CATALOG.map(entry => [entry.name, entry]));

describe('the catalog as a whole', () => {
  test('holds the 160 names of the specification, each once', () => {
    expect(specified).toHaveLength(160);
    const names = CATALOG.map(entry => entry.name).filter(name => !ofHost.includes(name));
    expect(names.sort()).toEqual([...specified].sort());
  });

  test('holds the 25 names of newer deployments, each once', () => {
    expect(ofHost).toHaveLength(25);
    expect(HOST_TABLES.flatMap(table => table.map(entry => entry.name)).sort()).toEqual(ofHost);
    expect(CATALOG).toHaveLength(specified.length + ofHost.length);
  });

  test('dates every counter, but those of a container, by an uptime of its own family', () => {
    for (const entry of CATALOG) {
      const uptime = byName.get(entry.uptimeSeries ?? '');
      const isDated = entry.type === 'counter' && !ofHost.includes(entry.name);
      expect(entry.uptimeSeries !== null, entry.name).toBe(isDated);
      if (!isDated) continue;
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
    const plain = new Set(['1', 's', 'ms', 'us', 'ns', 'By', '%']);
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
  [
    'adds up',
    'updowncounter',
    'engine_global_status_threads_connected proxy_server_connections ' +
      'engine_server_memory_rss engine_server_volume_stats_used_bytes',
  ],
  [
    'says whether all is well',
    'gauge',
    'engine_service_status engine_service_server_status engine_service_server_network_status',
  ],
  ['is one number for a state', 'stateset', 'engine_global_status_wsrep_local_state'],
  ['only has labels', 'info', 'engine_multimaster_status_info'],
])('what %s is a %s', (_, type, names) => {
  for (const name of names.split(' ')) expect(byName.get(name)?.type, name).toBe(type);
});
