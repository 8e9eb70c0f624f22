// Bundles src/index.ts, what the package offers to other programs, into dist/index.js with its type declarations in
// dist/types/. Its dependencies are installed with the package and stay outside. Run by `npm run build`, after the
// program's own bundle.

import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  dependencies: Readonly<Record<string, string>>;
};

const bundle = await rolldown({
  input: { index: 'src/index.ts' },
  platform: 'node',
  external: Object.keys(dependencies),
});
await bundle.write({
  dir: 'dist',
  format: 'esm',
  minify: true,
  entryFileNames: '[name].js',
  chunkFileNames: 'library/[name]-[hash].js',
});
await bundle.close();

const tsc = fileURLToPath(new URL('../bin/tsc', import.meta.resolve('typescript')));
execFileSync(process.execPath, [tsc, '--project', 'tools/tsconfig.library.json'], {
  stdio: 'inherit',
});
// The declarations name each other as the sources do.
for (const file of globSync('dist/types/**/*.d.ts')) {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replaceAll(/(['"])(\.{1,2}\/[^'"]+)\.ts\1/g, '$1$2.js$1'));
}
