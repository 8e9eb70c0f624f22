// ZIP archives for tests, good and bad: entries stored or deflated, with any flag, checksum or declared size.
// PKWARE APPNOTE 4.3.

import { crc32, deflateRawSync } from 'node:zlib';

export interface TestEntry {
  readonly name: string;
  readonly bytes: Buffer;
  readonly isStored?: boolean;
  /** General purpose bits; 1 is `encrypted`. */
  readonly flags?: number;
  readonly method?: number;
  readonly checksum?: number;
  readonly declaredBytes?: number;
}

export function writeZip(entries: readonly TestEntry[]): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const data = entry.isStored === true ? entry.bytes : deflateRawSync(entry.bytes);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(entry.flags ?? 0x0800, 2);
    fields.writeUInt16LE(entry.method ?? (entry.isStored === true ? 0 : 8), 4);
    fields.writeUInt32LE(entry.checksum ?? crc32(entry.bytes), 10);
    fields.writeUInt32LE(data.length, 14);
    fields.writeUInt32LE(entry.declaredBytes ?? entry.bytes.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, name, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, tail, name);
    parts.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, directory, end]);
}
