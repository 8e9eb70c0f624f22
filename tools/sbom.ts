// `node tools/sbom.ts`: the list of components of the package (SBOM) as CycloneDX on stdout. What is listed is what the
// lock file pins for someone who installs the package. (`npm sbom --omit dev` also omits a library of ours that a
// tool of the development can use, too.)

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = new URL('../', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'prom2otlp-sbom-'));
try {
  // Named as the package, since npm takes the name of the folder for the list.
  const place = join(folder, 'prom2otlp');
  mkdirSync(place);
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object;
  const shipped = { ...manifest, devDependencies: {}, scripts: {} };
  writeFileSync(join(place, 'package.json'), JSON.stringify(shipped));
  copyFileSync(join(root, 'package-lock.json'), join(place, 'package-lock.json'));
  const npm = (...args: string[]): string =>
    execFileSync('npm', args, {
      cwd: place,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  npm('install', '--package-lock-only', '--ignore-scripts', '--offline', '--silent');
  process.stdout.write(npm('sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
