// docs/use/changes.md as a reader follows it: the step of its job, with the change that it shows, fails with its summary.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ENTRY } from '../support/program.ts';
import { TemporaryDirectory } from '../support/temporary-directory.ts';

const text = readFileSync(new URL('../../docs/use/changes.md', import.meta.url), 'utf8');
const blocks = (language: string): string[] =>
  [...text.matchAll(/^```(\w+)\n([^]*?)^```/gm)]
    .filter(([, found]) => found === language)
    .map(([, , code = '']) => code);
