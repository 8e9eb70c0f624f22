// Unpacks a block of snappy, the compression of remote write. Format: the length as a varint, then literals and copies,
// https://github.com/google/snappy/blob/main/format_description.txt

/** Up to this many bytes, a loop copies faster than a call. */
const LOOP_BYTES_MAX = 32;

/** Throws when the block is damaged, or unpacks to more than `maxBytes`. */
export function unpackSnappy(packed: Buffer, maxBytes: number): Buffer {
  let at = 0;
  let length = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = packed[at++] ?? 0;
    length += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  if (length > maxBytes) throw new Error(`cannot unpack: ${length} bytes are too many`);
  const bytes = Buffer.allocUnsafe(length);
  let written = 0;
  while (at < packed.length) {
    const tag = packed[at++] ?? 0;
    if ((tag & 3) === 0) {
      const extraBytes = Math.max((tag >>> 2) - 59, 0);
      const size = 1 + (extraBytes === 0 ? tag >>> 2 : packed.readUIntLE(at, extraBytes));
      at += extraBytes;
      check(at + size <= packed.length && written + size <= length);
      if (size > LOOP_BYTES_MAX) packed.copy(bytes, written, at, at + size);
      else for (let i = 0; i < size; i++) bytes[written + i] = packed[at + i] ?? 0;
      at += size;
      written += size;
    } else {
      const { size, offset, tagBytes } = readCopy(packed, at, tag);
      at += tagBytes;
      check(offset > 0 && offset <= written && written + size <= length);
      // The source may overlap with the target: a repeated pattern.
      if (offset >= size && size > LOOP_BYTES_MAX)
        bytes.copyWithin(written, written - offset, written - offset + size);
      else for (let i = written; i < written + size; i++) bytes[i] = bytes[i - offset] ?? 0;
      written += size;
    }
  }
  check(written === length);
  return bytes;
}

interface Copy {
  readonly size: number;
  readonly offset: number;
  /** The number of bytes after the tag's first byte. */
  readonly tagBytes: number;
}

function readCopy(packed: Buffer, at: number, tag: number): Copy {
  if ((tag & 3) === 1) {
    const offset = ((tag >>> 5) << 8) | (packed[at] ?? 0);
    return { size: 4 + ((tag >>> 2) & 7), offset, tagBytes: 1 };
  }
  const tagBytes = (tag & 3) === 2 ? 2 : 4;
  check(at + tagBytes <= packed.length);
  return { size: 1 + (tag >>> 2), offset: packed.readUIntLE(at, tagBytes), tagBytes };
}

function check(isSound: boolean): void {
  if (!isSound) throw new Error('cannot unpack: the block is damaged');
}
