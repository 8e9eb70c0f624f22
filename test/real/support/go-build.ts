// Builds the programs of test/real/go and test/deploy/go. go.mod and go.sum pin the module versions; the machine's Go
// settings choose the module proxy. Both Go caches stay in the folder of the real parts: only the next build needs
// them, and they may be deleted.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, checkoutFolder, realFolder } from './folder.ts';
import type { Prepared } from './part.ts';
import { findProgram, run } from './process.ts';

const goModuleFolder: string = join(checkoutFolder, 'test/real/go');

/** Two cores and an empty cache need about three minutes; a slow mirror may add as much again. */
const BUILD_MAX_MS = 25 * 60 * 1000;

export interface GoProgram {
  /** Name of the program in the cache. */
  readonly name: string;
  /** The folder of its go.mod and go.sum; by default test/real/go. */
  readonly moduleFolder?: string;
  /** The argument of `go build` in that folder. */
  readonly package: string;
  /** The module whose version in go.mod is the program's. */
  readonly versionOf: string;
  readonly linkerFlags?: (version: string) => string;
  /** The program's sources besides go.mod and go.sum. */
  readonly sources: readonly string[];
}

/** Builds the program unless the same sources were built before. */
export async function goBuild(program: GoProgram): Promise<Prepared> {
  if (findProgram('go') === null) return { absent: 'there is no Go tool chain here' };
  const files = ['go.mod', 'go.sum', ...program.sources];
  const from = program.moduleFolder ?? goModuleFolder;
  const texts = await Promise.all(files.map(file => readFile(join(from, file), 'utf8')));
  const version = requiredVersion(texts[0] ?? '', program.versionOf);
  const sum = createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 8);
  try {
    const { folder, seconds } = await cached(`${program.name}-${version}-${sum}`, draft =>
      build(program, version, join(draft, program.name)),
    );
    return { version, seconds, path: join(folder, program.name) };
  } catch (error) {
    return { absent: (error as Error).message };
  }
}

async function build(program: GoProgram, version: string, output: string): Promise<void> {
  const linkerFlags = `-s -w ${program.linkerFlags?.(version) ?? ''}`.trim();
  // Without this tag, the Prometheus code includes every service discovery.
  const flags = ['-p', '2', '-trimpath', '-buildvcs=false', '-tags', 'remove_all_sd'];
  const go = ['go', 'build', ...flags, '-ldflags', linkerFlags, '-o', output, program.package];
  await run('nice', ['-n', '10', ...go], {
    folder: program.moduleFolder ?? goModuleFolder,
    timeoutMs: BUILD_MAX_MS,
    env: {
      CGO_ENABLED: '0',
      GOCACHE: join(realFolder, 'go/build'),
      // Makes the cache writable, so that deleting the folder needs no chmod.
      GOFLAGS: '-modcacherw',
      GOMODCACHE: join(realFolder, 'go/modules'),
    },
  });
}

function requiredVersion(goMod: string, module: string): string {
  const line = goMod.split('\n').find(line => line.trim().startsWith(`${module} v`));
  const version = line?.trim().split(' ')[1];
  if (version === undefined) throw new Error(`cannot find the version of ${module} in go.mod`);
  return version.slice(1);
}
