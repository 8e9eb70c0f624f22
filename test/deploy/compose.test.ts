// The compose file is valid by the specification of compose, and all files that it mounts exist. Its Collector and its
// Prometheus run with the same files in test/real/dashboards.test.ts.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { reasonToSkip } from '../real/support/part.ts';
import { tempDirectory } from '../support/program.ts';
import { checkCompose, composecheck } from './support/composecheck.ts';

const skip = await reasonToSkip([composecheck]);
const folder = join(import.meta.dirname, '../../deploy/compose');
const file = join(folder, 'compose.yaml');

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

describe.skipIf(skip !== null)('deploy/compose', () => {
  test('follows the specification, and mounts files that exist', async () => {
    const { services } = await checkCompose(file);
    expect(Object.keys(services)).toEqual(['collector', 'grafana', 'prom2otlp', 'prometheus']);
    const mounted = Object.values(services)
      .flatMap(({ volumes }) => volumes ?? [])
      .filter(({ type }) => type === 'bind')
      .map(({ source }) => source);
    expect(mounted.length).toBeGreaterThan(5);
    expect(mounted.filter(path => !existsSync(path))).toEqual([]);
    expect(existsSync(join(services['prom2otlp']?.build?.context ?? '', 'Dockerfile'))).toBe(true);
  });

  test('locks the daemon down, and exposes nothing beyond this machine', async () => {
    const { services } = await checkCompose(file);
    expect(services['prom2otlp']).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    // Without a fixed host name, every new container is another instance to the back end.
    expect(services['prom2otlp']?.hostname).toBe('prom2otlp');
    const ports = Object.values(services).flatMap(({ ports }) => ports ?? []);
    expect(ports.map(({ host_ip }) => host_ip)).toEqual(ports.map(() => '127.0.0.1'));
  });

  test('has a valid configuration, in a folder that git takes without its secrets', async () => {
    const { services } = await checkCompose(file);
    const text = read('etc/prom2otlp.yaml');
    const secrets = [...text.matchAll(/\$\{file:([^}]+)\}/g)].map(([, name]) => name);
    expect(secrets).toEqual(read('etc/.gitignore').trim().split('\n'));
    // The folder is mounted: a file mounted alone would not change when the host's file is replaced.
    expect(services['prom2otlp']?.volumes).toContainEqual(
      expect.objectContaining({ source: join(folder, 'etc'), target: '/etc/prom2otlp' }),
    );
    expect(services['prom2otlp']?.secrets).toBeUndefined();
    const filled = text.replaceAll(/\$\{file:[^}]+\}/g, 'a-secret-of-some-length');
    const config = parseConfig(filled, { file: 'prom2otlp.yaml', environment: {} });
    expect([config.logs.isEnabled, config.backups.isEnabled]).toEqual([true, true]);
  });

  test('lets Grafana find the dashboards, and Prometheus the alert rules', async () => {
    const { services } = await checkCompose(file);
    const { providers } = parse(read('grafana/dashboards.yaml')) as {
      providers: { options: { path: string } }[];
    };
    const targets = services['grafana']?.volumes?.map(({ target }) => target);
    expect(targets).toContain(providers[0]?.options.path);
    expect(read('prometheus.yaml')).toContain('alerts/*.rules.yaml');
    const rules = services['prometheus']?.volumes?.find(({ source }) => source.endsWith('/alerts'));
    expect(rules?.target).toBe('/etc/prometheus/alerts');
  });

  test('the check finds a key that compose does not have', async () => {
    using files = tempDirectory();
    const wrong = read('compose.yaml').replace('read_only:', 'readonly:');
    await expect(checkCompose(files.write('compose.yaml', wrong))).rejects.toThrow(/readonly/);
  });
});
