// The Node.js that was installed as a package: by `npm ci` in a checkout (tools/dev-node), or beside an installed package.
// In syntax that old Node versions can read.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';

const require = createRequire(import.meta.url);
const system = process.platform === 'win32' ? 'win' : process.platform;

/** The path of a Node.js for this machine other than the running one, or null. */
export function broughtNode() {
  for (const name of [`node-${system}-${process.arch}`, `node-bin-${system}-${process.arch}`]) {
    try {
      const manifest = require.resolve(`${name}/package.json`);
      const path = join(dirname(manifest), require(manifest).bin.node);
      if (path !== process.execPath) return path;
    } catch {
      // It is not installed.
    }
  }
  return null;
}

/** Runs a script in another Node.js, with the arguments of this process. This process ends as that one ends. */
export function goOnIn(node, script) {
  const args = ['--disable-sigusr1', ...process.execArgv, script, ...process.argv.slice(2)];
  const child = spawn(node, args, { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both. A second SIGINT would stop the program at once.
  const hasTerminal = [0, 1, 2].some(isatty);
  process.on('SIGINT', () => hasTerminal || child.kill('SIGINT'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', error => {
    console.error(`cannot start ${node}: ${error.message}; install Node.js 24.12 or newer`);
    process.exit(2);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}
