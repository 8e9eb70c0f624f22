// Reads the small text files of a configuration: the YAML, secrets and certificates. The size is limited, so
// that a path to a device or a database file cannot fill the memory. A file that is not UTF-8 is refused.

import { closeSync, openSync, readSync } from 'node:fs';

/** The size limit of the configuration itself and of every file that it names. */
export const TEXT_FILE_BYTES_MAX = 1_048_576;

/** The text without a byte order mark, or why there is none (words that follow `cannot read X: `). */
export type TextFile = { readonly text: string } | { readonly problem: string };

export type ReadTextFile = (path: string) => TextFile;

/** Reads a whole file of at most TEXT_FILE_BYTES_MAX bytes. Never throws. */
export function readTextFile(path: string): TextFile {
  try {
    const bytes = readBounded(path);
    if (bytes === null) return { problem: 'the file is larger than 1 MiB' };
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    return { problem: readProblem(error) };
  }
}

/** null when there is more than the limit. Reads on until the end: pipes give less than they are asked for. */
function readBounded(path: string): Buffer | null {
  const descriptor = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(TEXT_FILE_BYTES_MAX + 1);
    let used = 0;
    while (used < buffer.length) {
      const count = readSync(descriptor, buffer, used, buffer.length - used, null);
      if (count === 0) return buffer.subarray(0, used);
      used += count;
    }
    return null;
  } finally {
    closeSync(descriptor);
  }
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
  EMFILE: 'this process may open no more files (`ulimit -n`, or LimitNOFILE in a systemd unit)',
  EISDIR: 'it is a directory',
  ENAMETOOLONG: 'the path is too long',
  ERR_INVALID_ARG_VALUE: 'the path holds a null character',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8 text',
};

/** Why a file cannot be read. */
export function readProblem(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  // No message of the system gets through: it repeats the path, which may be a secret in the wrong place.
  return PROBLEMS[code ?? ''] ?? `the system says ${code ?? 'no'}`;
}
