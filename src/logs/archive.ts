// Opens a spooled archive, whatever it is (ZIP, gzip, plain text, told apart by the first bytes), and gives its
// entries one after the other. Names are labels, never paths. Nothing is believed: sizes are counted, checksums
// compared, entries numbered; encrypted and nested ones are refused. Throws an ArchiveError.

import { RandomAccessReader, fromRandomAccessReaderPromise, type Entry, type ZipFile } from 'yauzl';
import { causeText } from '../errors.ts';
import type { SpoolFile } from '../lib/spool-file.ts';
import { ArchiveError } from './archive-error.ts';
import { checked, fileBytes, gunzipped, inflated, UnpackedCount } from './unpack.ts';

export interface ArchiveLimits {
  readonly unpackedBytes: number;
  readonly ratio: number;
  readonly entries: number;
}

export interface ArchiveEntry {
  /** Unique within the archive; of one that has no entries, ''. */
  readonly name: string;
  /**
   * Its bytes from the beginning; may be asked for again after the last one has ended. A piece is valid until the
   * next is asked for.
   */
  readonly pieces: () => AsyncGenerator<Buffer>;
}

export type ArchiveForm = 'zip' | 'gzip' | 'plain' | 'empty';

const NAME_LENGTH_MAX = 255;
const METHOD_STORED = 0;
const METHOD_DEFLATED = 8;
const FLAG_ENCRYPTED = 1;

/** What the first bytes say. */
export function formOf(first: Buffer): ArchiveForm {
  if (first.length === 0) return 'empty';
  const isZip = first[0] === 0x50 && first[1] === 0x4b;
  // A local header, or the end record of an archive without entries.
  if (isZip && ((first[2] === 3 && first[3] === 4) || (first[2] === 5 && first[3] === 6)))
    return 'zip';
  return first[0] === 0x1f && first[1] === 0x8b ? 'gzip' : 'plain';
}

/** The entries in the archive's order. One at a time: its pieces are read before the next is asked for. */
export async function* archiveEntries(
  spool: SpoolFile,
  limits: ArchiveLimits,
): AsyncGenerator<ArchiveEntry> {
  const first = await spool.read(0, 512);
  const form = formOf(first);
  if (form === 'empty') return;
  if (form === 'zip') {
    yield* zipEntries(spool, limits);
    return;
  }
  if (form === 'plain') refuseAnswer(first);
  const pieces = (): AsyncGenerator<Buffer> => {
    const packed = fileBytes(spool, 0, spool.bytes);
    if (form === 'plain') return packed;
    return refuseNested(new UnpackedCount(spool.bytes, limits).of(gunzipped(packed)));
  };
  yield { name: '', pieces };
}

/** Pages and errors that came with a good status are no log lines. */
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
    // Of a directory there is nothing to read.
    if (entry.fileNameRaw.at(-1) === 0x2f && entry.uncompressedSize === 0) continue;
    if (names.size >= limits.entries)
      throw new ArchiveError('entries_limit', `it has more than ${limits.entries} entries`);
    const name = uniqueName(entry.fileNameRaw, names);
    let readBytes = 0;
    const pieces = async function* (): AsyncGenerator<Buffer> {
      // A second reading counts anew.
      count.bytes -= readBytes;
      const before = count.bytes;
      try {
        yield* refuseNested(count.of(checked(await entryBytes(spool, zip, entry), entry.crc32)));
      } finally {
        readBytes = count.bytes - before;
      }
    };
    yield { name, pieces };
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
  if (compressionMethod === METHOD_DEFLATED) return inflated(packed);
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
  const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
  const reader = new SpoolReader(spool);
  const zip = await fromRandomAccessReaderPromise(reader, spool.bytes, options).catch(damaged);
  // What comes after the loop over the entries has ended must not end the process.
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

/** The central directory stands at the end: without it the archive was cut off. */
function damaged(error: unknown): never {
  const text = causeText(error);
  const fault = /end of central directory/i.test(text)
    ? 'cut'
    : /encryption/.test(text)
      ? 'encrypted'
      : 'damaged';
  throw new ArchiveError(fault, text, { cause: error });
}

/** Lets yauzl read the nameless file, which it must not close. */
class SpoolReader extends RandomAccessReader {
  readonly #spool: SpoolFile;

  constructor(spool: SpoolFile) {
    super();
    this.#spool = spool;
  }

  override read(
    buffer: Buffer,
    offset: number,
    ...[length, position, callback]: [number, number, (error: Error | null, read?: number) => void]
  ): void {
    this.#spool.read(position, length).then(
      bytes => callback(null, bytes.copy(buffer, offset)),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
    );
  }

  override close(callback: (error: Error | null) => void): void {
    setImmediate(callback, null);
  }
}
