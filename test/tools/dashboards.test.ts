import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dashboards, dashboardText } from '../../tools/dashboards.ts';

const folder = join(import.meta.dirname, '../../deploy/dashboards');

describe('deploy/dashboards', () => {
  test.each(Object.entries(dashboards))(
    '%s.json is current (`node tools/dashboards.ts` writes it)',
    (name, spec) => {
      expect(readFileSync(join(folder, `${name}.json`), 'utf8')).toBe(dashboardText(spec));
    },
  );

  test('holds nothing else', () => {
    expect(readdirSync(folder).sort()).toEqual(Object.keys(dashboards).map(name => `${name}.json`));
  });
});
