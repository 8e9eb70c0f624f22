// Builds dist/: the bundle of the program, and the licences of all packages in it. Run by `npm run build`; the output is
// not kept in git.

import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundled, partsOf } from './bundle.ts';

process.chdir(fileURLToPath(new URL('../', import.meta.url)));
rmSync('dist', { recursive: true, force: true });

const parts = partsOf(await bundled({ write: true }));
const licences = parts.map(({ name, version, license, licenceText }) =>
  [`${name} ${version}`, `Licence: ${license}`, '', licenceText].join('\n').trim(),
);
const rule = `\n\n${'-'.repeat(80)}\n\n`;
writeFileSync('dist/LICENSES.txt', `${licences.join(rule)}\n`);

const files = readdirSync('dist', { recursive: true, withFileTypes: true }).filter(file =>
  file.isFile(),
);
const bytes = files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
console.log(
  `dist: ${files.length} files, ${Math.round(bytes / 1024)} KiB, ${parts.length} packages`,
);
