// Builds dist/: the bundles of the program and the library, the types of the library in dist/types/, and the licences of
// all packages that are in the bundles. Run by `npm run build`; the output is not kept in git.

import { execFileSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundles, partsOf } from './bundle.ts';

process.chdir(fileURLToPath(new URL('../', import.meta.url)));
rmSync('dist', { recursive: true, force: true });

const parts = partsOf(await bundles({ write: true }));
const licences = parts.map(({ name, version, license, licenceText }) =>
  [`${name} ${version}`, `Licence: ${license}`, '', licenceText].join('\n').trim(),
);
const rule = `\n\n${'-'.repeat(80)}\n\n`;
writeFileSync('dist/LICENSES.txt', `${licences.join(rule)}\n`);

const tsc = fileURLToPath(new URL('../bin/tsc', import.meta.resolve('typescript')));
execFileSync(process.execPath, [tsc, '--project', 'tools/tsconfig.library.json'], {
  stdio: 'inherit',
});
const reached = new Set<string>();
declare('dist/types/index.d.ts');
for (const file of globSync('dist/types/**/*.d.ts')) if (!reached.has(file)) rmSync(file);

/** Keeps the declarations of a file and of all files that it imports, and changes `.ts` in their imports to `.js`. */
function declare(file: string): void {
  if (reached.has(file)) return;
  reached.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, from = ''] of text.matchAll(/\sfrom '([^']+)'/g)) {
    if (!from.startsWith('.')) throw new Error(`cannot ship ${file}: its types need ${from}`);
    declare(join(file, '..', from.replace(/\.ts$/, '.d.ts')));
  }
  writeFileSync(file, text.replaceAll(/(\sfrom '\.{1,2}\/[^']+)\.ts'/g, "$1.js'"));
}

const files = readdirSync('dist', { recursive: true, withFileTypes: true }).filter(file =>
  file.isFile(),
);
const bytes = files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
console.log(
  `dist: ${files.length} files, ${Math.round(bytes / 1024)} KiB, ${parts.length} packages`,
);
