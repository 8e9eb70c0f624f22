// A directory of a test's own, removed at the end of the test.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'prom2otlp-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
