// Bundles src/main.ts with everything it uses into dist/: one directory that runs without node_modules. Verbs are
// loaded on demand, so each is a chunk of its own. Run by `npm run build`; the output is not kept in git.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, readdirSync } from 'node:fs';
import { rolldown } from 'rolldown';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

// pino and others are CommonJS and require Node's own modules; in an ES module that needs a require.
const banner =
  "import { createRequire as createRequireOfBundle } from 'node:module';\n" +
  'const require = createRequireOfBundle(import.meta.url);';

rmSync('dist', { recursive: true, force: true });
const bundle = await rolldown({
  input: { main: 'src/main.ts' },
  platform: 'node',
  transform: {
    define: {
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
