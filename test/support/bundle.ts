// Builds the bundle before the suites that start the program.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export function setup(): void {
  execFileSync(process.execPath, ['tools/build.ts'], { cwd: join(import.meta.dirname, '../..') });
}
