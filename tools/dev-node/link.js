// `npm ci` runs this after it has installed the packages. Links the Node.js of this package into node_modules/.bin, where
// npm's scripts find it first. npm 11 makes this link itself; npm 10 removes it with the packages of other platforms.

import { existsSync, linkSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { broughtNode } from '../../bin/brought-node.js';

const name = process.platform === 'win32' ? 'node.exe' : 'node';
const place = fileURLToPath(new URL(join('../../node_modules/.bin', name), import.meta.url));
const node = broughtNode();
if (node !== null && !existsSync(place)) {
  mkdirSync(dirname(place), { recursive: true });
  // Windows lets only administrators make symbolic links.
  if (process.platform === 'win32') linkSync(node, place);
  else symlinkSync(node, place);
}
