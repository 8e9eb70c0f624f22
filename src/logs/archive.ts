// Opens a spooled archive (ZIP, gzip or plain text, by its first bytes), and yields its entries one after the other.
// Names are labels, never paths. Declared values are not trusted: sizes are counted, checksums verified, entries
// limited; encrypted and nested archives are refused. Holds a few pieces in memory at a time. Throws an ArchiveError.

import { pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createInflateRaw, crc32 } from 'node:zlib';
import { fromFdPromise, type Entry, type ZipFile } from 'yauzl';
import { causeText } from '../errors.ts';
import type { SpoolFile } from '../lib/spool-file.ts';

/** `_limit`: it exceeds a configured limit. */
export type ArchiveFault =
  /** An error page or a JSON answer. */
  | 'not_archive'
  | 'cut'
  | 'damaged'
  | 'checksum'
  | 'encrypted'
  | 'nested'
  | 'method'
  | 'archive_limit'
  | 'entries_limit'
  | 'unpacked_limit'
  | 'ratio_limit'
  /** The service lists the archive, and refuses the download. */
  | 'refused';

/** Thrown while unpacking; archive-reading.ts turns it into a value. */
export class ArchiveError extends Error {
  readonly fault: ArchiveFault;

  constructor(fault: ArchiveFault, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = 'ArchiveError';
    this.fault = fault;
  }

  /** True when the rest of the archive is not read either. */
  get endsArchive(): boolean {
    return this.fault.endsWith('_limit');
  }
}

export interface ArchiveLimits {
  readonly unpackedBytes: number;
  readonly ratio: number;
  readonly entries: number;
}

export interface ArchiveEntry {
  /** Unique within the archive; '' for a format without entries. */
  readonly name: string;
  /** True when a checksum shows whether it is whole. */
  readonly isChecked: boolean;
  /**
   * Its bytes from the beginning; may be called again after the last call has ended. A piece is valid until the next
   * one is requested.
   */
  readonly pieces: () => AsyncGenerator<Buffer>;
}

export const PIECE_BYTES: number = 64 * 1024;
const CHUNKS = { chunkSize: PIECE_BYTES };

/** Smaller content may have any ratio: a few lines repeated often compress well. */
const RATIO_BYTES_MIN = 16 * 1024 * 1024;
const NAME_LENGTH_MAX = 255;
const METHOD_STORED = 0;
const METHOD_DEFLATED = 8;
const FLAG_ENCRYPTED = 1;

/** The format, by the first bytes. */
export function formOf(first: Buffer): 'zip' | 'gzip' | 'plain' {
  const isZip = first[0] === 0x50 && first[1] === 0x4b;
  // A local header, or the end record of an archive without entries.
  if (isZip && ((first[2] === 3 && first[3] === 4) || (first[2] === 5 && first[3] === 6)))
    return 'zip';
  return first[0] === 0x1f && first[1] === 0x8b ? 'gzip' : 'plain';
}

/** The entries in the archive's order. Read the pieces of one before you request the next. */
export async function* archiveEntries(
  spool: SpoolFile,
  limits: ArchiveLimits,
): AsyncGenerator<ArchiveEntry> {
  const first = await spool.read(0, 512);
  if (first.length === 0) return;
  const form = formOf(first);
  if (form === 'zip') {
    yield* zipEntries(spool, limits);
    return;
  }
  if (form === 'plain') refuseAnswer(first);
  const pieces = (): AsyncGenerator<Buffer> => {
    if (form === 'plain') return fileBytes(spool);
    return refuseNested(new UnpackedCount(spool.bytes, limits).of(gunzipped(spool)));
  };
  yield { name: '', isChecked: form === 'gzip', pieces };
}

/** All members. Zeros may follow the last one; at zeros between two members Node would silently drop the rest. */
async function* gunzipped(spool: SpoolFile): AsyncGenerator<Buffer> {
  const gunzip = createGunzip(CHUNKS);
  yield* unpacked(fileBytes(spool), gunzip);
  for await (const rest of fileBytes(spool, gunzip.bytesWritten))
    if (rest.some(byte => byte !== 0))
      throw new ArchiveError('damaged', 'data follows after zeros between its members');
}

/** Refuses web pages and errors that came with status 200. */
function refuseAnswer(first: Buffer): void {
  const text = first.toString('latin1').trimStart();
  if (/^<(?:!doctype|html|\?xml)/i.test(text))
    throw new ArchiveError('not_archive', 'it is a web page');
  if (/^\{\s*"(?:errors|error|detail|exception|trace_id)"\s*:/.test(text))
    throw new ArchiveError('not_archive', 'it is an error in JSON');
}

async function* zipEntries(spool: SpoolFile, limits: ArchiveLimits): AsyncGenerator<ArchiveEntry> {
  const zip = await openZip(spool);
  const count = new UnpackedCount(spool.bytes, limits);
  const names = new Set<string>();
  for await (const entry of entriesOf(zip)) {
    // A directory has no content.
    if (entry.fileNameRaw.at(-1) === 0x2f && entry.uncompressedSize === 0) continue;
    if (names.size >= limits.entries)
      throw new ArchiveError('entries_limit', `it has more than ${limits.entries} entries`);
    const name = uniqueName(entry.fileNameRaw, names);
    let readBytes = 0;
    const pieces = async function* (): AsyncGenerator<Buffer> {
      // A second reading counts from the start.
      count.bytes -= readBytes;
      const before = count.bytes;
      try {
        yield* refuseNested(count.of(checked(await entryBytes(spool, zip, entry), entry.crc32)));
      } finally {
        readBytes = count.bytes - before;
      }
    };
    yield { name, isChecked: true, pieces };
  }
}

async function entryBytes(
  spool: SpoolFile,
  zip: ZipFile,
  entry: Entry,
): Promise<AsyncGenerator<Buffer>> {
  const { compressionMethod, compressedSize } = entry;
  if ((entry.generalPurposeBitFlag & FLAG_ENCRYPTED) !== 0)
    throw new ArchiveError('encrypted', 'it is encrypted');
  const { fileDataStart } = await zip
    .readLocalFileHeaderPromise(entry, { minimal: true })
    .catch(damaged);
  const packed = fileBytes(spool, fileDataStart, fileDataStart + compressedSize);
  if (compressionMethod === METHOD_STORED) return packed;
  if (compressionMethod === METHOD_DEFLATED) return unpacked(packed, createInflateRaw(CHUNKS));
  throw new ArchiveError('method', `it is packed by method ${compressionMethod}`);
}

async function* refuseNested(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const piece of pieces) {
    const form = isFirst ? formOf(piece) : 'plain';
    if (form === 'zip' || form === 'gzip')
      throw new ArchiveError('nested', 'it holds another archive');
    isFirst = false;
    yield piece;
  }
}

function uniqueName(raw: Buffer, names: Set<string>): string {
  const base = raw.toString('utf8').slice(0, NAME_LENGTH_MAX);
  let name = base;
  for (let number = 2; names.has(name); number++) name = `${base}#${number}`;
  names.add(name);
  return name;
}

async function openZip(spool: SpoolFile): Promise<ZipFile> {
  // The spool closes the file.
  const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
  const zip = await fromFdPromise(spool.fd, options).catch(damaged);
  // An error after the loop over the entries must not end the process.
  zip.on('error', () => undefined);
  return zip;
}

async function* entriesOf(zip: ZipFile): AsyncGenerator<Entry> {
  const entries = zip.eachEntry();
  for (;;) {
    const { done, value } = await entries.next().catch(damaged);
    if (done === true) return;
    yield value;
  }
}

/** The central directory is at the end: without it the archive was cut off. */
function damaged(error: unknown): never {
  const text = causeText(error);
  const fault = /end of central directory/i.test(text)
    ? 'cut'
    : /encryption/.test(text)
      ? 'encrypted'
      : 'damaged';
  throw new ArchiveError(fault, text, { cause: error });
}

/** The bytes `[from, to)` of the file; by default all. */
async function* fileBytes(
  spool: SpoolFile,
  from = 0,
  to: number = spool.bytes,
): AsyncGenerator<Buffer> {
  for (let offset = from; offset < to; ) {
    const piece = await spool.read(offset, Math.min(PIECE_BYTES, to - offset));
    if (piece.length === 0) throw new ArchiveError('cut', 'it ends in the middle');
    yield piece;
    offset += piece.length;
  }
}

async function* unpacked(
  packed: AsyncIterable<Buffer>,
  unpacker: Transform,
): AsyncGenerator<Buffer> {
  const source = Readable.from(packed, { objectMode: true, highWaterMark: 1 });
  // The loop below throws failures; without a callback they would end the process.
  pipeline(source, unpacker, () => undefined);
  try {
    for await (const piece of unpacker) {
      yield piece as Buffer;
      giveBack(piece as Buffer);
    }
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    const isCut = error instanceof Error && 'code' in error && error.code === 'Z_BUF_ERROR';
    throw new ArchiveError(isCut ? 'cut' : 'damaged', causeText(error), { cause: error });
  } finally {
    source.destroy();
    unpacker.destroy();
  }
}

/**
 * Frees a piece's memory now. The garbage collector sees only small objects and runs late, while their memory outside
 * the heap grows with the archive (measured: by 60 MB). A piece at the end of its buffer is the last one in it: the
 * unpacker uses a new buffer by then.
 */
function giveBack({ buffer, byteOffset, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteOffset + byteLength === buffer.byteLength)
    buffer.transfer(0);
}

/** Counts the unpacked bytes of one archive, over all its entries. */
class UnpackedCount {
  bytes = 0;
  readonly #packedBytes: number;
  readonly #limits: ArchiveLimits;

  constructor(packedBytes: number, limits: ArchiveLimits) {
    this.#packedBytes = packedBytes;
    this.#limits = limits;
  }

  /** Passes pieces through up to the limit, to the byte, and then throws. */
  async *of(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const { unpackedBytes, ratio } = this.#limits;
    const ratioBytes = Math.max(RATIO_BYTES_MIN, this.#packedBytes * ratio);
    const limit = Math.min(unpackedBytes, ratioBytes);
    for await (const piece of pieces) {
      const room = limit - this.bytes;
      this.bytes += Math.min(piece.length, room);
      if (piece.length <= room) {
        yield piece;
        continue;
      }
      if (room > 0) yield piece.subarray(0, room);
      throw limit === unpackedBytes
        ? new ArchiveError('unpacked_limit', `it unpacks to more than ${limit} bytes`)
        : new ArchiveError('ratio_limit', `it unpacks to more than ${ratio} times its size`);
    }
  }
}

/** Passes pieces through; throws at the end if their checksum is wrong. */
async function* checked(pieces: AsyncIterable<Buffer>, checksum: number): AsyncGenerator<Buffer> {
  let sum = 0;
  for await (const piece of pieces) {
    sum = crc32(piece, sum);
    yield piece;
  }
  if (sum !== checksum) throw new ArchiveError('checksum', 'its checksum is wrong');
}
