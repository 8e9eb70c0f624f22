// Makes the bundle of the program (src/main.ts), where each verb is a chunk that is loaded on demand. It contains
// everything that it uses, so that the package installs nothing else: with dependencies, an install took 60 MB and 60
// packages. Also lists the packages in the bundle.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputOptions, rolldown, type RolldownOutput } from 'rolldown';
import { asciiOnly, leanBuiltins, leanUndici } from './lean-bundle.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/** A package that the bundle contains, whole or in part. */
export interface Part extends Manifest {
  /** The package's key in the lock file: `node_modules/pino`. */
  readonly place: string;
  /** The text of its licence; '' if the package has no such file. */
  readonly licenceText: string;
}

export const manifest: Manifest = manifestIn(root);

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

/** Makes the bundle in memory; with `write`, also in dist/. */
export async function bundled({ write }: { readonly write: boolean }): Promise<RolldownOutput> {
  const built = await rolldown({
    cwd: root,
    input: { main: 'src/main.ts' },
    platform: 'node',
    plugins: [leanUndici(), leanBuiltins, asciiOnly],
    // Reading a property of one of Node's modules has no effect, so an unused one is left out.
    treeshake: { propertyReadSideEffects: false },
    transform: {
      define: {
        // Tells undici that it is bundled, so that it leaves its second parser out.
        esbuildDetection: 'true',
        // Drops the failpoints, which are for tests of a checkout.
        PROM2OTLP_IS_SHIPPED: 'true',
        PROM2OTLP_VERSION: JSON.stringify(manifest.version),
        // The image is built without a repository.
        PROM2OTLP_COMMIT: JSON.stringify(process.env['PROM2OTLP_COMMIT'] ?? commit()),
      },
    },
  });
  const options: OutputOptions = {
    dir: join(root, 'dist'),
    format: 'esm',
    minify: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    // The bundler's runtime imports this module. If it shared a chunk with other code, chunks could wait for each other.
    codeSplitting: { groups: [{ name: 'builtin-module', test: /^\0builtin:node:module$/ }] },
    // pino and others are CommonJS: in an ES module, they need a `require`, but only for Node's own modules.
    banner: 'const require = process.getBuiltinModule;',
  };
  const output = await (write ? built.write(options) : built.generate(options));
  await built.close();
  return output;
}

/** The packages in the bundle, by name. */
export function partsOf({ output }: RolldownOutput): readonly Part[] {
  const folders = new Set(
    output
      .flatMap(file => (file.type === 'chunk' ? file.moduleIds : []))
      .flatMap(id => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
  );
  return [...folders].map(partIn).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function partIn(folder: string): Part {
  const { name, version, license } = manifestIn(folder);
  const files = readdirSync(folder).filter(file => /^(licen[cs]e|notice|copying)/i.test(file));
  files.sort();
  const licenceText = files.map(file => readFileSync(join(folder, file), 'utf8')).join('\n');
  return { name, version, license, place: relative(root, folder), licenceText };
}
