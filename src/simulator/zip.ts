// Writes a ZIP archive in memory: deflated entries, a central directory, UTF-8 names, no ZIP64 (entries and
// archive stay below 4 GiB). PKWARE APPNOTE 4.3.
//
//   { local header · name · deflated bytes } … { central header · name } … end record

import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string;
  readonly bytes: Buffer;
  /** Untrue on purpose: general purpose bits (1 is `encrypted`), the checksum. */
  readonly flags?: number;
  readonly checksum?: number;
}

const LOCAL_SIGNATURE = 0x04034b50;
const CENTRAL_SIGNATURE = 0x02014b50;
const END_SIGNATURE = 0x06054b50;
const VERSION = 20;
const FLAG_UTF8 = 0x0800;
const METHOD_DEFLATE = 8;
/** 1980-01-01: the oldest date there is in a ZIP. */
const DOS_DATE = 0x0021;

export function zip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const deflated = deflateRawSync(entry.bytes);
    const shared = sharedFields(entry, deflated.length, name.length);
    const local = Buffer.concat([uint32(LOCAL_SIGNATURE), shared, name, deflated]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    central.push(uint32(CENTRAL_SIGNATURE), uint16(VERSION), shared, tail, name);
    parts.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(END_SIGNATURE, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, directory, end]);
}

// From "version needed" to "extra field length": the same in the local and the central header.
function sharedFields(entry: ZipEntry, deflatedBytes: number, nameBytes: number): Buffer {
  const { bytes, flags = 0, checksum = crc32(bytes) } = entry;
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(VERSION, 0);
  fields.writeUInt16LE(FLAG_UTF8 | flags, 2);
  fields.writeUInt16LE(METHOD_DEFLATE, 4);
  fields.writeUInt16LE(DOS_DATE, 8);
  fields.writeUInt32LE(checksum, 10);
  fields.writeUInt32LE(deflatedBytes, 14);
  fields.writeUInt32LE(bytes.length, 18);
  fields.writeUInt16LE(nameBytes, 22);
  return fields;
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
