// The first bytes of the queue's file. One wrong byte there, and SQLite reads nothing of the file at all; but most of
// them are the same in every file of ours, so they can be put right. What is not ours is left as it is.

import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { APPLICATION_ID, FORMAT_VERSION, PAGE_BYTES } from './schema.ts';

interface Field {
  readonly offset: number;
  readonly bytes: Buffer;
  readonly orBytes?: Buffer;
}

/** By these a file is known as ours, and of this version. */
const MARKS: readonly Field[] = [
  { offset: 60, bytes: int32(FORMAT_VERSION) },
  { offset: 68, bytes: int32(APPLICATION_ID) },
];

/** See https://www.sqlite.org/fileformat.html, 1.3. */
const FIXED: readonly Field[] = [
  { offset: 0, bytes: Buffer.from('SQLite format 3\0') },
  { offset: 16, bytes: Buffer.of(PAGE_BYTES >> 8, PAGE_BYTES & 0xff) },
  // With a log, or without where the disk cannot have one.
  { offset: 18, bytes: Buffer.of(2, 2), orBytes: Buffer.of(1, 1) },
  // Nothing behind the pages, and the only fractions of them that there are.
  { offset: 20, bytes: Buffer.of(0, 64, 32, 32) },
  // The form of the schema, and UTF-8.
  { offset: 44, bytes: int32(4) },
  { offset: 56, bytes: int32(1) },
];

const HEADER_BYTES = 100;

/** Whether a file is ours and its header is damaged. Throws when it cannot be read. */
export function isHeaderDamaged(path: string): boolean {
  return damagedFields(path).length > 0;
}

/** Puts right what is damaged in the header of a file of ours, in place. */
export function mendHeader(path: string): void {
  const fields = damagedFields(path);
  if (fields.length === 0) return;
  const file = openSync(path, 'r+');
  try {
    for (const { offset, bytes } of fields) writeSync(file, bytes, 0, bytes.length, offset);
  } finally {
    closeSync(file);
  }
}

function damagedFields(path: string): readonly Field[] {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, 'r');
  try {
    readSync(file, header, 0, HEADER_BYTES, 0);
  } finally {
    closeSync(file);
  }
  const has = ({ offset, bytes, orBytes }: Field): boolean => {
    const found = header.subarray(offset, offset + bytes.length);
    return found.equals(bytes) || orBytes?.equals(found) === true;
  };
  return MARKS.every(has) ? FIXED.filter(field => !has(field)) : [];
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
