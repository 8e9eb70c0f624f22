// Differences between pages and catalog are reported when they change.
import { describe, expect, test } from 'vitest';
import { type DriftReport, reportDrift } from '../../src/daemon/drift-report.ts';
import { HOST_TABLES } from '../../src/catalog/host.ts';
import { Target } from '../support/target.ts';

const PAGE = [
  'engine_up 1',
  'engine_info_schema_table_size 1',
  '# TYPE engine_global_status_queries histogram',
  'engine_global_status_queries_count 1',
  'engine_dist_stats_connections 1',
  'engine_dist_staengine_dist_Com_select 1',
  'engine_server_new 1',
].join('\n');

describe('drift', () => {
  const driftOf = (target: Target, seconds: number, text: string): DriftReport | null => {
    target.page(seconds, `${text}\n`);
    return reportDrift(target.translation.table, target.translation.derive);
  };

  test('B: differences between page and catalog are found and counted', () => {
    const drift = driftOf(new Target(), 0, PAGE);
    expect(drift?.added).toEqual({
      appeared: 1,
      vanished: expect.any(Number),
      contradicted: 1,
      mangled: 1,
    });
    const engine = drift?.families.get('engine');
    expect(engine?.appeared).toEqual({ count: 1, items: ['engine_server_new'] });
    expect(engine?.vanished.items).toContain('engine_security_users_without_passwords');
    expect(engine?.contradicted.items).toEqual([
      { name: 'engine_global_status_queries', declared: 'histogram' },
    ]);
    expect(drift?.families.get('dist')?.mangled.items).toEqual([
      {
        name: 'engine_dist_staengine_dist_Com_select',
        original: 'engine_dist_stats_Com_select',
      },
    ]);
  });

  test('B: a difference is reported once; an unchanged page reports nothing', () => {
    const target = new Target();
    expect(driftOf(target, 0, PAGE)).not.toBeNull();
    expect(driftOf(target, 60, PAGE)).toBeNull();
    expect(driftOf(target, 120, PAGE.replaceAll(' 1', ' 2'))).toBeNull();
    target.fail(180);
    expect(driftOf(target, 240, PAGE)).toBeNull();
  });

  test('B: TYPE after the samples: the parts of a histogram are not separate names, on either path', () => {
    const target = new Target();
    const page = (count: number): string =>
      `engine_x_bucket{le="1"} 1\nengine_x_count ${count}\n# TYPE engine_x histogram`;
    const drift = driftOf(target, 0, page(1));
    expect(drift?.families.get('engine')?.appeared.items).toEqual(['engine_x']);
    for (let round = 1; round < 5; round++)
      expect(driftOf(target, 60 * round, page(round))).toBeNull();
  });

  test('B: only new differences are counted again', () => {
    const target = new Target();
    driftOf(target, 0, PAGE);
    expect(driftOf(target, 60, `${PAGE}\nengine_server_disk 1`)?.added).toEqual({
      appeared: 1,
      vanished: 0,
      contradicted: 0,
      mangled: 0,
    });
    const gone = driftOf(target, 120, PAGE.replace('engine_info_schema_table_size 1\n', ''));
    expect(gone?.added).toMatchObject({ appeared: 0, vanished: 1 });
    expect(driftOf(target, 180, PAGE)?.added).toMatchObject({ appeared: 0, vanished: 0 });
  });

  test('B: the series of newer deployments are known, and a proxy that lacks its uptime is reported once', () => {
    const names = HOST_TABLES.flat().map(({ name }) => name);
    const page = (value: number): string =>
      [...names, 'proxy_up', 'proxy_modules', 'proxy_service_connections']
        .map(name => `${name} ${value}`)
        .join('\n');
    const target = new Target();
    const drift = driftOf(target, 0, page(1));
    expect(drift?.added).toEqual({ appeared: 0, vanished: 1, contradicted: 0, mangled: 0 });
    expect(drift?.families.get('proxy')?.vanished.items).toEqual(['proxy_uptime_seconds']);
    expect(driftOf(target, 60, page(2))).toBeNull();
  });

  test('B: strict mode does not use the catalog', () => {
    expect(driftOf(new Target({ metrics: { mapping: 'strict' } }), 0, PAGE)).toBeNull();
  });
});
