import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { telemetryDocument } from '../../tools/telemetry-docs.ts';

const root = join(import.meta.dirname, '../..');
const document = readFileSync(join(root, 'docs/telemetry.md'), 'utf8');

test('docs/telemetry.md is current (`node tools/telemetry-docs.ts` writes it)', async () => {
  expect(await telemetryDocument()).toBe(document);
});

test('no metric that the sources name is missing, here or among the backup gauges', () => {
  const backups = readFileSync(join(root, 'docs/backups.md'), 'utf8');
  const sources = globSync('src/**/*.ts', { cwd: root }).map(file =>
    readFileSync(join(root, file), 'utf8'),
  );
  const names = sources.flatMap(text => [...text.matchAll(/'(prom2otlp_[a-z0-9_]+)'/g)]);
  const missing = new Set(names.map(([, name = '']) => name));
  expect(missing.size).toBeGreaterThan(50);
  for (const name of missing)
    if (document.includes(`\`${name}\``) || backups.includes(`\`${name}\``)) missing.delete(name);
  expect([...missing]).toEqual([]);
});
