// The two bundles of the package: the program (src/main.ts, where each verb is a chunk of its own, loaded on demand) and the
// library (src/index.ts). Both contain all that they use, so that the package installs nothing else. They share no chunk: the
// program's are cut for its start. Also lists which packages the bundles contain.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputOptions, rolldown, type RolldownBuild, type RolldownOutput } from 'rolldown';
import { asciiOnly, leanBuiltins, leanUndici } from './lean-bundle.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/** A package of which a bundle contains a part. */
export interface Part extends Manifest {
  /** As the lock file names it: `node_modules/pino`. */
  readonly place: string;
  /** Of its licence; '' if the package has no such file. */
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

function bundle(input: Readonly<Record<string, string>>): Promise<RolldownBuild> {
  return rolldown({
    cwd: root,
    input: { ...input },
    platform: 'node',
    plugins: [leanUndici, leanBuiltins, asciiOnly],
    // To read a property of a module of Node's has no effect: what is not used is left out.
    treeshake: { propertyReadSideEffects: false },
    transform: {
      define: {
        // By this undici knows that it is bundled, and leaves its second parser out.
        esbuildDetection: 'true',
        PROM2OTLP_VERSION: JSON.stringify(manifest.version),
        // The image is built without a repository.
        PROM2OTLP_COMMIT: JSON.stringify(process.env['PROM2OTLP_COMMIT'] ?? commit()),
      },
    },
  });
}

/** Bundles both in memory. With `write` they also go into dist/. */
export async function bundles({ write }: { readonly write: boolean }): Promise<RolldownOutput[]> {
  const outputs: RolldownOutput[] = [];
  for (const [name, source, chunks] of [
    ['main', 'src/main.ts', 'chunks'],
    ['index', 'src/index.ts', 'library'],
  ] as const) {
    const built = await bundle({ [name]: source });
    const options: OutputOptions = {
      dir: join(root, 'dist'),
      format: 'esm',
      minify: true,
      entryFileNames: '[name].js',
      chunkFileNames: `${chunks}/[name]-[hash].js`,
      // The bundler's own part of all chunks imports this: beside other code, chunks could wait for each other.
      codeSplitting: { groups: [{ name: 'builtin-module', test: /^\0builtin:node:module$/ }] },
      // pino and others are CommonJS and require Node's own modules, and nothing else; in an ES module that needs a require.
      banner: 'const require = process.getBuiltinModule;',
    };
    outputs.push(await (write ? built.write(options) : built.generate(options)));
    await built.close();
  }
  return outputs;
}

/** The packages in these bundles, by name. */
export function partsOf(outputs: readonly RolldownOutput[]): readonly Part[] {
  const folders = new Set(
    outputs
      .flatMap(({ output }) => output)
      .flatMap(file => (file.type === 'chunk' ? file.moduleIds : []))
      .flatMap(id => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
  );
  return [...folders].map(partIn).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function partIn(folder: string): Part {
  const { name, version, license } = manifestIn(folder);
  const files = readdirSync(folder).filter(file => /^(licen[cs]e|notice|copying)/i.test(file));
  const licenceText = files.map(file => readFileSync(join(folder, file), 'utf8')).join('\n');
  return { name, version, license, place: relative(root, folder), licenceText };
}
