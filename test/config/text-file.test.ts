import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TEXT_FILE_BYTES_MAX, readTextFile } from '../../src/config/text-file.ts';
import { useDirectory } from '../support/temporary-directory.ts';

const { path: directory } = useDirectory();

function file(content: string | Buffer): string {
  const path = join(directory, 'file');
  writeFileSync(path, content);
  return path;
}

test('a file is read whole, without its byte order mark', () => {
  const check = (content: string | Buffer, text: string): void => {
    expect(readTextFile(file(content))).toEqual({ text });
  };
  check('', '');
  check('a\nb\n', 'a\nb\n');
  check('\uFEFFa', 'a');
  check('ä€😀', 'ä€😀');
  check('x'.repeat(TEXT_FILE_BYTES_MAX), 'x'.repeat(TEXT_FILE_BYTES_MAX));
});

test('a read failure is reported in words that do not repeat the path', () => {
  const check = (path: string, problem: string): void => {
    expect(readTextFile(path)).toEqual({ problem });
  };
  check(join(directory, 'none'), 'there is no such file');
  check(join(file('x'), 'below'), 'there is no such file');
  check(directory, 'it is a directory');
  check(join(directory, 'a\0b'), 'the path holds a null character');
  check(join(directory, 'x'.repeat(5000)), 'the path is too long');
  check(file(Buffer.from([0xc3, 0x28])), 'it is not UTF-8 text');
  check(file('x'.repeat(TEXT_FILE_BYTES_MAX + 1)), 'the file is larger than 1 MiB');
  check('/dev/zero', 'the file is larger than 1 MiB');
});
