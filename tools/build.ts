// Bundles src/main.ts with everything it uses into dist/: one directory that runs without node_modules. Verbs are
// loaded on demand, so each is a chunk of its own. Run by `npm run build`; the output is not kept in git.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, readdirSync } from 'node:fs';
import { rolldown } from 'rolldown';
import { asciiOnly, leanBuiltins, leanUndici } from './lean-bundle.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

// pino and others are CommonJS and require Node's own modules, and nothing else; in an ES module that needs a require.
const banner = 'const require = process.getBuiltinModule;';

rmSync('dist', { recursive: true, force: true });
const bundle = await rolldown({
  input: { main: 'src/main.ts' },
  platform: 'node',
  plugins: [leanUndici, leanBuiltins, asciiOnly],
  // To read a property of a module of Node's has no effect: what is not used is left out.
  treeshake: { propertyReadSideEffects: false },
  transform: {
    define: {
      // By this undici knows that it is bundled, and leaves its second parser out.
      esbuildDetection: 'true',
      PROM2OTLP_VERSION: JSON.stringify(version),
      PROM2OTLP_COMMIT: JSON.stringify(commit()),
    },
  },
});
await bundle.write({
  dir: 'dist',
  format: 'esm',
  minify: true,
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name]-[hash].js',
  // The bundler's own part of all chunks imports this: beside other code, chunks could wait for each other.
  codeSplitting: { groups: [{ name: 'builtin-module', test: /^\0builtin:node:module$/ }] },
  banner,
});
await bundle.close();

const files = readdirSync('dist', { recursive: true, withFileTypes: true }).filter(file =>
  file.isFile(),
);
const bytes = files.reduce(
  (sum, file) => sum + statSync(`${file.parentPath}/${file.name}`).size,
  0,
);
console.log(`dist: ${files.length} files, ${Math.round(bytes / 1024)} KiB`);
