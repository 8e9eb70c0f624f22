// Directories that are removed with the test, or with the tests of a file.

import { afterAll, onTestFinished } from 'vitest';
import { tempDirectory } from './program.ts';

/** The path of a directory for the running test alone. */
export function temporaryDirectory(): string {
  const directory = tempDirectory();
  onTestFinished(() => directory[Symbol.dispose]());
  return directory.path;
}

/** A directory for all tests of a file. */
export function useDirectory(): ReturnType<typeof tempDirectory> {
  const directory = tempDirectory();
  afterAll(() => directory[Symbol.dispose]());
  return directory;
}
