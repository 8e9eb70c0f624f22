// Writes a ZIP archive in memory: a central directory, UTF-8 names, no ZIP64 (entries and archive stay below 4 GiB).
// PKWARE APPNOTE 4.3.
//
//   { local header · name · data } … { central header · name } … end record

import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string;
  readonly bytes: Buffer;
  /** Deflated by default. */
  readonly isStored?: boolean;
  /** Wrong values on purpose: general purpose bits (1 is `encrypted`), the method, the checksum, the size. */
  readonly flags?: number;
  readonly method?: number;
  readonly checksum?: number;
  readonly declaredBytes?: number;
}

const FLAG_UTF8 = 0x0800;

export function zip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name: text, bytes, isStored = false, ...declared } of entries) {
    const name = Buffer.from(text);
    const data = isStored ? bytes : deflateRawSync(bytes);
    // From "version needed" to "extra field length": the same in the local and the central header.
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(declared.flags ?? FLAG_UTF8, 2);
    fields.writeUInt16LE(declared.method ?? (isStored ? 0 : 8), 4);
    fields.writeUInt32LE(declared.checksum ?? crc32(bytes), 10);
    fields.writeUInt32LE(data.length, 14);
    fields.writeUInt32LE(declared.declaredBytes ?? bytes.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, name, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.from('PK\x01\x02\x14\x00'), fields, tail, name);
    parts.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, directory, end]);
}
