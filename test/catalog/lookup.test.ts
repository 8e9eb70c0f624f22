import { describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/catalog/all.ts';
import { createCatalogLookup, type FamilyPrefixes } from '../../src/catalog/lookup.ts';
import type { Family } from '../../src/model/metric.ts';

const OWN: FamilyPrefixes = {
  engine: ['engine_'],
  multimaster: ['engine_multimaster_'],
  dist: ['engine_dist_'],
  proxy: ['proxy_'],
};

describe('with the default prefixes', () => {
  const lookup = createCatalogLookup(OWN);

  test('every catalog name finds its own entry, family and uptime', () => {
    for (const entry of CATALOG) {
      expect(lookup.find(entry.name)).toEqual({ entry, uptimeName: entry.uptimeSeries });
      expect(lookup.familyOf(entry.name)).toBe(entry.family);
    }
  });

  test('the longest prefix decides the family, known name or not', () => {
    const check = (name: string, want: Family): void => {
      expect(lookup.familyOf(name), name).toBe(want);
      expect(lookup.find(name), name).toBeNull();
    };
    check('engine_server_cpu_seconds_total', 'engine');
    check('engine_multimaster_new', 'multimaster');
    check('engine_multimaster', 'engine');
    check('engine_dist_new', 'dist');
    check('engine_distance', 'engine');
    check('proxy_new', 'proxy');
    check('process_cpu_seconds_total', 'process');
    check('my_engine_up', 'other');
    check('go_goroutines', 'other');
    check('', 'other');
  });
});

describe('with prefixes of another exporter', () => {
  const lookup = createCatalogLookup({
    engine: ['engine_', 'mysql_'],
    multimaster: ['engine_multimaster_', 'mysql_galera_'],
    dist: [],
    proxy: ['proxy_', 'px_'],
  });

  test('a mapped name finds the entry, and its uptime in its own spelling', () => {
    const check = (name: string, entry: string, uptime: string | null): void => {
      const match = lookup.find(name);
      expect([match?.entry.name, match?.uptimeName], name).toEqual([entry, uptime]);
    };
    const uptime = 'global_status_uptime';
    check('mysql_global_status_uptime', `engine_${uptime}`, null);
    check('mysql_global_status_queries', 'engine_global_status_queries', `mysql_${uptime}`);
    check('engine_global_status_queries', 'engine_global_status_queries', `engine_${uptime}`);
    check('mysql_galera_status_info', 'engine_multimaster_status_info', null);
    check('px_threads_reads', 'proxy_threads_reads', 'px_uptime_seconds');
  });

  test('a mapped prefix never reaches into another family', () => {
    const check = (name: string, family: Family): void => {
      expect([lookup.find(name), lookup.familyOf(name)], name).toEqual([null, family]);
    };
    check('mysql_multimaster_status_info', 'engine');
    check('mysql_dist_qps', 'engine');
    check('engine_dist_qps', 'engine');
    check('px_', 'proxy');
  });
});

describe('names that the relabelling has damaged', () => {
  const lookup = createCatalogLookup({ ...OWN, dist: ['engine_dist_', 'dx_'] });

  test('are reported with the original name', () => {
    const check = (name: string, original: string): void => {
      expect(lookup.originalOf(name)).toBe(original);
      expect(lookup.find(name)).toBeNull();
    };
    check('engine_dist_staCom_select', 'engine_dist_stats_Com_select');
    check('engine_dist_staengine_dist_Com_delete_seconds', 'engine_dist_stats_Com_delete_seconds');
    check('engine_dist_sta_rest_Com_show_status', 'engine_dist_stats_Com_show_status');
    check('engine_dist_staconnections', 'engine_dist_stats_connections');
    check('engine_dist_staengine_dist_connections', 'engine_dist_stats_connections');
    check('dx_staCom_update', 'engine_dist_stats_Com_update');
  });

  test('are not reported for names that are correct, merely new, or of another family', () => {
    const check = (name: string): void => {
      expect(lookup.originalOf(name), name).toBe(null);
    };
    check('engine_dist_stats_Com_select');
    check('engine_dist_stats_Com_replace');
    check('engine_dist_stale_connections');
    check('engine_dist_stats_bad_connections');
    check('engine_dist_state');
    check('engine_staCom_select');
    check('Com_select');
  });
});
