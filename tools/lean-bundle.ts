// What makes the bundle small in memory, as plugins of the bundler: only what is used of undici, Node's own modules
// without those that nobody asked for, and text that V8 keeps in one byte a character. What the program does stays the
// same; docs/decisions/0030-memory-and-pauses.md has the measurements.

import { fileURLToPath } from 'node:url';
import type { Plugin } from 'rolldown';

/**
 * Of undici the bundle has the dispatchers that src uses, over HTTP/1.1. The rest (fetch, WebSocket, caches, mocks, HTTP/2,
 * a second parser) is never called, and costs 6 MB of a small daemon's memory.
 */
export const leanUndici: Plugin = {
  name: 'lean-undici',
  resolveId: (source, importer) => {
    if (source === 'undici') return USED_OF_UNDICI;
    if (importer?.includes('/undici/lib/') !== true) return null;
    if (LEFT_OUT.test(source)) return NOTHING;
    return /util\/timers(?:\.js)?$/.test(source) ? TIMERS : null;
  },
  load: id => LOADED.get(id) ?? null,
};
const USED_OF_UNDICI = '\0undici';
const NOTHING = '\0nothing';
const TIMERS = '\0undici-timers.cjs';
const LEFT_OUT = /(?:client-h2\.js|web\/fetch\/body\.js|web\/fetch\/formdata|web\/webidl)$/;
const undici = fileURLToPath(new URL('lib/', import.meta.resolve('undici')));
const LOADED: ReadonlyMap<string, string> = new Map([
  [NOTHING, 'export default {};'],
  [
    USED_OF_UNDICI,
    // As undici's own index.js puts them together.
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
    // Its own timers wake the process twice a second for as long as a connection is kept open. Node's do at the end of
    // the time only; like its own, they keep no process alive.
    `
  const start = (callback, ms, value) => setTimeout(callback, ms, value).unref();
  const stop = timer => clearTimeout(timer);
  module.exports = { setTimeout: start, clearTimeout: stop, setFastTimeout: start, clearFastTimeout: stop };
`,
  ],
]);

/**
 * An import of a module of Node's as an ES module reads all of its exports, also those that load others on demand: `crypto`
 * so loads all of Web Crypto, `process` its reports. Asked for as below, a module brings what it is built of.
 */
export const leanBuiltins: Plugin = {
  name: 'lean-builtins',
  // The bundler's runtime is not changed: a module of its own here may get into a chunk that needs the runtime first.
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

/** One character beyond Latin-1 makes V8 keep the whole text of a chunk in two bytes a character. */
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
