// Plugins of the bundler that make the bundle small in memory, but do not change what the program does: they keep
// only the used part of undici, load only the needed modules of Node, and write text that V8 keeps in one byte a
// character. docs/how-it-works/decisions/0030-memory-and-pauses.md has the measurements.

import { fileURLToPath } from 'node:url';
import type { Plugin } from 'rolldown';

/**
 * Keeps only undici's dispatchers that src uses, over HTTP/1.1. The rest (fetch, WebSocket, caches, mocks, HTTP/2, a
 * second parser) is never called, and costs 6 MB of a small daemon's memory. Where undici no longer imports a module
 * that is replaced here, the build fails: the new undici has moved it.
 */
export function leanUndici(): Plugin {
  const unmet = new Set([...REPLACED.keys(), SECOND_PARSER]);
  return {
    name: 'lean-undici',
    resolveId: (source, importer) => {
      if (source === 'undici') return USED_OF_UNDICI;
      if (importer?.includes('/undici/lib/') !== true) return null;
      const path = [...REPLACED.keys()].find(path => source.replace(/\.js$/, '').endsWith(path));
      if (path === undefined) return null;
      unmet.delete(path);
      return REPLACED.get(path) ?? null;
    },
    load: id => LOADED.get(id) ?? null,
    transform: (code, id) => {
      if (id.endsWith('/undici/lib/dispatcher/client-h1.js') && code.includes(SECOND_PARSER))
        unmet.delete(SECOND_PARSER);
      return null;
    },
    buildEnd: error => {
      if (error === undefined && unmet.size > 0)
        throw new Error(
          `cannot bundle undici: its modules no longer use ${[...unmet].join(', ')}; see tools/lean-bundle.ts`,
        );
    },
  };
}
const USED_OF_UNDICI = '\0undici';
const NOTHING = '\0nothing';
const TIMERS = '\0undici-timers.cjs';
/** The condition, set by bundle.ts, on which undici leaves its second parser out. */
const SECOND_PARSER = 'esbuildDetection';
/** What takes the place of undici's modules, by the end of their paths. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  ['client-h2', NOTHING],
  ['web/fetch/body', NOTHING],
  ['web/fetch/formdata', NOTHING],
  ['web/webidl', NOTHING],
  ['util/timers', TIMERS],
]);
const undici = fileURLToPath(new URL('lib/', import.meta.resolve('undici')));
const LOADED: ReadonlyMap<string, string> = new Map([
  [NOTHING, 'export default {};'],
  [
    USED_OF_UNDICI,
    // Combines the parts as undici's own index.js does.
    `
  import Dispatcher from '${undici}dispatcher/dispatcher.js';
  import request from '${undici}api/api-request.js';
  Dispatcher.prototype.request = request;
  export { default as Pool } from '${undici}dispatcher/pool.js';
  export { default as buildConnector } from '${undici}core/connect.js';
  export { default as ProxyAgent } from '${undici}dispatcher/proxy-agent.js';
`,
  ],
  [
    TIMERS,
    // undici's own timers wake the process twice a second while a connection is open. Node's timers wake it only when
    // the time is over. Like undici's, they do not keep the process alive.
    `
  const start = (callback, ms, value) => setTimeout(callback, ms, value).unref();
  const stop = timer => clearTimeout(timer);
  module.exports = { setTimeout: start, clearTimeout: stop, setFastTimeout: start, clearFastTimeout: stop };
`,
  ],
]);

/**
 * An ES import of one of Node's modules reads all of its exports, even those that load other modules on demand: so
 * `crypto` loads all of Web Crypto, and `process` its reports. `process.getBuiltinModule` loads only the module itself.
 */
export const leanBuiltins: Plugin = {
  name: 'lean-builtins',
  // Does not change imports of the bundler's runtime: the new module might get into a chunk that needs the runtime
  // first.
  resolveId: (source, importer, { kind }) =>
    source.startsWith('node:') && kind === 'import-statement' && importer !== RUNTIME
      ? `${BUILTIN}${source}`
      : null,
  load: id => (id.startsWith(BUILTIN) ? exportsOf(id.slice(BUILTIN.length)) : null),
};
const BUILTIN = '\0builtin:';
const RUNTIME = '\0rolldown/runtime.js';

function exportsOf(name: string): string {
  const found: object | undefined = process.getBuiltinModule(name);
  if (found === undefined) throw new Error(`cannot bundle ${name}: Node has no such module`);
  const names = Object.entries(Object.getOwnPropertyDescriptors(found)).flatMap(
    ([key, property]) => ('value' in property && /^[a-z]\w*$/i.test(key) ? [key] : []),
  );
  return [
    `const found = /* @__PURE__ */ process.getBuiltinModule('${name}');`,
    'export { found as default };',
    ...names.map((key, index) => `const e${index} = found.${key}; export { e${index} as ${key} };`),
  ].join('\n');
}

/** Escapes all other characters: one beyond Latin-1 makes V8 keep the whole text of a chunk in two bytes a character. */
export const asciiOnly: Plugin = {
  name: 'ascii-only',
  generateBundle: (_options, bundle) => {
    for (const file of Object.values(bundle)) {
      if (file.type === 'chunk') file.code = file.code.replaceAll(/[^\0-\x7f]/g, escaped);
    }
  },
};

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
