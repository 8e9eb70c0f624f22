#!/usr/bin/env node
// The door to the program, in syntax that old Node versions can read: it checks the version (exit 2),
// then runs src/main.ts in a checkout and dist/main.js in a package. PROM2OTLP_ENTRY (a path from the
// root of the checkout) forces one of them.
var version = process.versions.node.split('.').map(Number);
if (version[0] < 24 || (version[0] === 24 && version[1] < 12)) {
  console.error(
    'prom2otlp needs Node.js 24.12 or newer; this is ' +
      process.version +
      '. In a checkout, `npm ci` brings one along: use `npm start` or `npx prom2otlp`.',
  );
  process.exit(2);
}
import('node:fs').then(function (fs) {
  var root = new URL('../', import.meta.url);
  var forced = process.env.PROM2OTLP_ENTRY;
  var source = new URL('src/main.ts', root);
  var entry = forced
    ? new URL(forced, root)
    : fs.existsSync(source)
      ? source
      : new URL('dist/main.js', root);
  return import(entry.href);
});
