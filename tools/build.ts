// Bundles src/main.ts with everything it uses into dist/: one directory that runs without node_modules. Verbs are
// loaded on demand, so each is a chunk of its own. Run by `npm run build`; the output is not kept in git.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';

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

/**
 * Of undici the bundle has the dispatchers that src uses, over HTTP/1.1. The rest (fetch, WebSocket, caches, mocks, HTTP/2,
 * a second parser) is never called, and costs 6 MB of a small daemon's memory.
 */
const leanUndici: Plugin = {
  name: 'lean-undici',
  resolveId: (source, importer) => {
    if (source === 'undici') return USED_OF_UNDICI;
    const isLeftOut = importer?.includes('/undici/lib/') === true && LEFT_OUT.test(source);
    return isLeftOut ? NOTHING : null;
  },
  load: id => (id === NOTHING ? 'export default {};' : id === USED_OF_UNDICI ? USED : null),
};
const USED_OF_UNDICI = '\0undici';
const NOTHING = '\0nothing';
const LEFT_OUT = /(?:client-h2\.js|web\/fetch\/body\.js|web\/fetch\/formdata|web\/webidl)$/;
const undici = fileURLToPath(new URL('lib/', import.meta.resolve('undici')));
/** As undici's own index.js puts them together. */
const USED = `
  import Dispatcher from '${undici}dispatcher/dispatcher.js';
  import request from '${undici}api/api-request.js';
  Dispatcher.prototype.request = request;
  export { default as Pool } from '${undici}dispatcher/pool.js';
  export { default as ProxyAgent } from '${undici}dispatcher/proxy-agent.js';
`;

rmSync('dist', { recursive: true, force: true });
const bundle = await rolldown({
  input: { main: 'src/main.ts' },
  platform: 'node',
  plugins: [leanUndici],
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
