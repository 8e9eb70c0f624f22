#!/usr/bin/env node
// The door to the program, in syntax that old Node versions can read. It runs src/main.ts in a checkout, and dist/main.js in
// a package; PROM2OTLP_ENTRY (a path from the root) forces one of them. If this Node.js is too old, the program runs in the
// one that was brought along. If there is none, or if a checkout has no packages, it says so and exits with 2.

// Without a listener, SIGUSR1 opens Node's inspector to every user of this machine. The image and the unit also start Node
// with --disable-sigusr1, which older Node versions refuse: `npx` and `npm start` cannot.
process.on('SIGUSR1', () => undefined);

const { existsSync } = await import('node:fs');

const root = new URL('../', import.meta.url);
const source = new URL('src/main.ts', root);
const forced = process.env.PROM2OTLP_ENTRY;
const isCheckout = existsSync(source);
const lacksPackages = isCheckout && !forced && !existsSync(new URL('node_modules', root));
const [major, minor] = process.versions.node.split('.').map(Number);

function fail(problem) {
  console.error(`cannot start prom2otlp: ${problem}`);
  process.exit(2);
}

if (lacksPackages) {
  fail('node_modules is missing; run `npm ci` first');
} else if (major > 24 || (major === 24 && minor >= 12)) {
  const packaged = new URL('dist/main.js', root);
  await import((forced ? new URL(forced, root) : isCheckout ? source : packaged).href);
} else {
  const { broughtNode, goOnIn } = await import('./brought-node.js');
  const { fileURLToPath } = await import('node:url');
  const node = broughtNode();
  if (node === null)
    fail(`it needs Node.js 24.12 or newer, and this is ${process.version}; install a newer one`);
  else goOnIn(node, fileURLToPath(import.meta.url));
}
