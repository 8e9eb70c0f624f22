// Gives the files of the package (package.json, "files") the modes that git keeps: 755 for a program, 644 for the rest.
// `npm pack` copies the modes of the checkout, which depend on the umask of its clone, and so would its checksum.

import { chmodSync, globSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('../', import.meta.url)));
const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly files: readonly string[];
};
const paths = ['package.json', ...files].flatMap(pattern =>
  globSync([pattern, `${pattern}/**`, `${pattern}/**/.*`]),
);
for (const path of paths) {
  const found = statSync(path);
  const mode = (found.mode & 0o100) === 0 ? 0o644 : 0o755;
  // Without a need, no change: another user may own the checkout.
  if (found.isFile() && (found.mode & 0o777) !== mode) chmodSync(path, mode);
}
