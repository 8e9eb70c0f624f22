import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../bench/floor.ts', import.meta.url));

test('the floor under a page of the fleet is measured by one command', () => {
  const told = execFileSync(process.execPath, [SCRIPT, '1'], { encoding: 'utf8' });
  expect(told).toMatch(/^a page of 100000 series, 2\d\.\d MB, 1 times\n/);
  expect(told).toMatch(/^floor \d+\.\d ms {2}\d+ ns\/sample$/m);
});
