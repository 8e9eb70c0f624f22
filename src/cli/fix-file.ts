// `check --fix`: replaces the file of a valid configuration by one without deprecated keys (config/yaml-edit.ts), at once, with
// the same owner and permissions.

import { readFileSync, realpathSync, statSync } from 'node:fs';
import { type FileHandle, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fixText } from '../config/yaml-edit.ts';
import { judgeFile } from '../config/load.ts';
import { syncDirectory } from '../lib/private-files.ts';
import { refuseFile, type VerbContext, writeNewFile } from './verb.ts';

/** Prints what it changes. False if a deprecated key stays. Throws the mistakes of a file that is not valid, unchanged. */
export async function fixFile(
  file: string,
  { environment, out, err }: VerbContext,
): Promise<boolean> {
  judgeFile({ file, environment });
  const { text, changes, left } = fixText(readFileSync(file, 'utf8'));
  if (changes.length > 0) await replaceFile(file, text);
  for (const change of changes) out.line(change);
  for (const key of left)
    err.line(
      `cannot rewrite ${key}: its lines have an anchor, an alias, a comment in braces or an unusual layout; edit them by hand`,
    );
  if (changes.length > 0) out.line(`${file}: rewritten`);
  else if (left.length === 0) out.line(`${file}: nothing to rewrite`);
  return left.length === 0;
}

const HINT = 'run this as the owner of the file, or edit what the file is made from';

/** A link stays; the file that it leads to is replaced. */
async function replaceFile(file: string, text: string): Promise<void> {
  const path = realpathSync(file);
  const { mode, uid, gid } = statSync(path);
  const next = `${path}.new`;
  const write = async (to: FileHandle): Promise<void> => {
    await to.writeFile(text);
    const own = await to.stat();
    if (own.uid !== uid || own.gid !== gid) await to.chown(uid, gid);
    await to.chmod(mode & 0o7777);
    await to.sync();
    await rename(next, path);
  };
  await writeNewFile(
    next,
    to => write(to).catch(refuseFile(path, HINT)),
    `remove it if it exists; ${HINT}`,
  );
  syncDirectory(dirname(path));
}
