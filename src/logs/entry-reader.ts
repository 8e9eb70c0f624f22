// Reads one file of an archive from where it was left: passes over the bytes that are done if they are still the
// same, cuts the rest into lines, takes the wrappers off and has the type's reader make records of them. At any
// moment `progress` says how far the returned records reach. It is stored together with them, so that the next read
// goes on after them and loses nothing.
//
//   0 ──────── done ───────▶ progress.bytes ─ lines ─▶ position ─ held back ─▶ end
//      hash as before, or it         records, some of            no line end yet, or
//      is read again from 0          them open in reader         a part that goes on

import { isAscii, isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { compileForWork } from '../lib/footprint.ts';
import { type LineReader, MARK, type ParsedRecord } from './record.ts';
import { Unwrapper, type UnwrapOptions } from './unwrap.ts';

/** How far an entry has been read. Plain data that is stored as it is. */
export interface EntryProgress {
  readonly bytes: number;
  readonly lines: number;
  /** SHA-256 of the first `bytes`, in hex. */
  readonly hash: string;
  /** True when more bytes followed, which were no whole line. */
  readonly hasTail: boolean;
  /** LineReader.save(). */
  readonly reader: string;
}

export interface EntryReaderOptions {
  /** null for an entry that is new, or read again. */
  readonly progress: EntryProgress | null;
  /** Taken over from here on. */
  readonly reader: LineReader;
  readonly unwrap: UnwrapOptions;
}

/** A character takes six bytes in JSON at most, as `\u00e9`; the object around it a few more. */
const JSON_LINE_FACTOR = 6;
const JSON_LINE_EXTRA_BYTES = 4096;

const NOTHING = Buffer.alloc(0);

export class EntryReader {
  /** The records of the last `next` or `end`. */
  records: ParsedRecord[] = [];
  readonly #done: EntryProgress | null;
  readonly #reader: LineReader;
  readonly #splitter: LineSplitter;
  readonly #isJson: boolean;
  readonly #unwrapper: Unwrapper;
  /** Of the bytes before the current piece. */
  readonly #hash = createHash('sha256');
  #piece: Buffer = NOTHING;
  #pieceOffset = 0;
  #lines: number;
  /** The last place at which nothing is held back, and the hash up to there. */
  #safe: { readonly bytes: number; readonly lines: number; readonly hash: Hash };

  constructor({ progress, reader, unwrap }: EntryReaderOptions) {
    this.#done = progress;
    this.#reader = reader;
    reader.restore(progress?.reader ?? '');
    const { format, lineBytesMax } = unwrap;
    this.#isJson = format === 'json';
    const physicalBytesMax =
      lineBytesMax * (this.#isJson ? JSON_LINE_FACTOR : 1) + JSON_LINE_EXTRA_BYTES;
    const bytes = progress?.bytes ?? 0;
    this.#splitter = new LineSplitter(this.#isJson ? physicalBytesMax : lineBytesMax, bytes);
    this.#unwrapper = new Unwrapper(unwrap, line => {
      for (const record of this.#reader.push(line)) this.records.push(record);
    });
    this.#lines = progress?.lines ?? 0;
    this.#safe = { bytes: 0, lines: this.#lines, hash: this.#hash.copy() };
  }

  /** Bytes that were passed over because their lines are over the limit. */
  get cutBytes(): number {
    return this.#splitter.cutBytes;
  }

  /** Bytes of the entry that have been fed, those that were done included. */
  get seenBytes(): number {
    return this.#pieceOffset + this.#piece.length;
  }

  /** True while the bytes are passed over that were done before. */
  get isBehind(): boolean {
    return this.seenBytes < (this.#done?.bytes ?? 0);
  }

  /**
   * Takes the next bytes, whose memory may be reused once `next` has returned false. False when the entry does not
   * begin as it did before: then it must be read from its beginning.
   */
  feed(piece: Buffer): boolean {
    this.#passPiece();
    this.#piece = piece;
    const leftBytes = (this.#done?.bytes ?? 0) - this.#pieceOffset;
    compileForWork(Math.max(0, piece.length - Math.max(0, leftBytes)));
    if (leftBytes > piece.length) return true;
    if (leftBytes > 0) {
      this.#markSafe(this.#pieceOffset + leftBytes);
      if (this.#hashText() !== this.#done?.hash) return false;
    }
    this.#splitter.feed(leftBytes > 0 ? piece.subarray(leftBytes) : piece);
    return true;
  }

  /** Reads one more line of the piece into `records`; false when there is none. */
  next(): boolean {
    if (this.records.length > 0) this.records = [];
    const splitter = this.#splitter;
    const unwrapper = this.#unwrapper;
    const pendingBefore = unwrapper.pendingOffset;
    if (!splitter.next()) {
      if (!unwrapper.isPending) this.#markSafe(splitter.position);
      this.#passPiece();
      return false;
    }
    unwrapper.push(splitter.text, splitter.offset, splitter.marks);
    const isNewPending = unwrapper.isPending && unwrapper.pendingOffset !== pendingBefore;
    if (isNewPending) this.#markSafe(splitter.offset);
    this.#lines++;
    return true;
  }

  /**
   * Ends the entry. False when it has fewer bytes than were read before. With `isFinal`, what
   * was held back is returned, and the open record with it.
   */
  end(isFinal: boolean): boolean {
    this.records = [];
    if (this.isBehind) return false;
    if (isFinal) this.#giveHeld(0);
    return true;
  }

  /** The rest is over a limit: returns what was held back. A line without its end is marked. */
  cut(): void {
    this.records = [];
    this.#giveHeld(MARK.lineCut);
  }

  #giveHeld(endMarks: number): void {
    const records: ParsedRecord[] = [];
    // A part of a JSON object cannot be read.
    if (endMarks === 0 || !this.#isJson) this.#splitter.feedEnd(endMarks);
    while (this.next()) records.push(...this.records);
    this.records = records;
    this.#unwrapper.flush();
    records.push(...this.#reader.flush());
    this.#markSafe(this.#splitter.position);
  }

  /** How far the returned records reach, those of the last `next` included. */
  progress(): EntryProgress {
    if (!this.#unwrapper.isPending) this.#markSafe(this.#splitter.position);
    const { bytes, lines } = this.#safe;
    const hasTail = this.#splitter.hasTail || this.#unwrapper.isPending;
    return { bytes, lines, hash: this.#hashText(), hasTail, reader: this.#reader.save() };
  }

  #passPiece(): void {
    this.#hash.update(this.#piece);
    this.#pieceOffset += this.#piece.length;
    this.#piece = NOTHING;
  }

  #hashText(): string {
    return this.#safe.hash.copy().digest('hex');
  }

  /** A place before the current piece has been marked already, when the piece it lies in was over. */
  #markSafe(bytes: number): void {
    if (bytes <= this.#safe.bytes || bytes > this.seenBytes) return;
    const hash = this.#hash.copy().update(this.#piece.subarray(0, bytes - this.#pieceOffset));
    this.#safe = { bytes, lines: this.#lines, hash };
  }
}

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
/**
 * Cuts an entry's bytes into lines while they come in pieces of any size. A line without its end is held back until
 * the end comes. The held bytes are bounded: of a line over the limit the rest is passed over and counted.
 *
 *   splitter.feed(piece);
 *   while (splitter.next()) use(splitter.text, splitter.offset, splitter.marks);
 */
export class LineSplitter {
  /** The current line without its end. */
  text = '';
  /** Where it begins in the entry, in bytes. */
  offset = 0;
  /** Bits of MARK. */
  marks = 0;
  /** Where the lines that were taken end: the next line begins here. */
  position: number;
  /** Bytes that were passed over because of the limit. */
  cutBytes = 0;
  readonly #lineBytesMax: number;
  /** Whole lines, and where the next of them begins. */
  #block: Buffer = NOTHING;
  #start = 0;
  /** The block as text where it is ASCII: characters are bytes then. */
  #ascii: string | null = null;
  /** Bytes of the block's first line that are not in it. */
  #missingBytes = 0;
  /** The pieces of a line without its end, and how much of it was passed over. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #skippedBytes = 0;
  #joined: Buffer = NOTHING;
  /** True while the block is a line whose end is not in the entry, with these marks. */
  #isEndAdded = false;
  #endMarks = 0;

  /** The first piece begins at `offset` of the entry. */
  constructor(lineBytesMax: number, offset = 0) {
    this.#lineBytesMax = lineBytesMax;
    this.position = offset;
  }

  /** True when bytes follow the last line end. */
  get hasTail(): boolean {
    return this.#heldBytes > 0;
  }

  /** All lines before must have been taken. The piece must not change before the next call. */
  feed(piece: Buffer): void {
    this.#block = NOTHING;
    this.#start = 0;
    const end = piece.lastIndexOf(NEWLINE) + 1;
    if (end > 0) this.#open(piece, end);
    if (end < piece.length) this.#hold(piece.subarray(end));
  }

  /** Takes the bytes after the last line end as a line, with these marks. */
  feedEnd(marks = 0): void {
    if (!this.hasTail) return;
    this.feed(Buffer.of(NEWLINE));
    this.#isEndAdded = true;
    this.#endMarks = marks;
  }

  /** Moves on to the next line; false when there is none left. */
  next(): boolean {
    if (this.#start >= this.#block.length) return false;
    const start = this.#start;
    const end =
      this.#ascii === null ? this.#block.indexOf(NEWLINE, start) : this.#ascii.indexOf('\n', start);
    this.offset = this.position;
    this.marks = 0;
    this.#take(start, end);
    this.#start = end + 1;
    this.position += end + 1 - start + this.#missingBytes;
    this.#missingBytes = 0;
    if (this.#isEndAdded) {
      this.position--;
      this.marks |= this.#endMarks;
      this.#isEndAdded = false;
    }
    return true;
  }

  #open(piece: Buffer, end: number): void {
    // Of a line that is over the limit already, no more than its end is wanted.
    const from = this.#skippedBytes > 0 ? piece.indexOf(NEWLINE) : 0;
    if (this.#skippedBytes > 0) this.#missingBytes = this.#skippedBytes + from;
    const lines = piece.subarray(from, end);
    this.#block = this.#heldBytes > 0 ? this.#join(lines) : lines;
    this.#ascii = isAscii(this.#block) ? this.#block.toString('latin1') : null;
    this.#held = [];
    this.#heldBytes = 0;
    this.#skippedBytes = 0;
  }

  /** Into memory that is used again and again: a fresh Buffer for each piece would be garbage by the gigabyte. */
  #join(lines: Buffer): Buffer {
    const bytes = this.#heldBytes + lines.length;
    if (bytes > this.#joined.length) this.#joined = Buffer.allocUnsafeSlow(2 * bytes);
    let end = 0;
    for (const held of this.#held) end += held.copy(this.#joined, end);
    lines.copy(this.#joined, end);
    return this.#joined.subarray(0, bytes);
  }

  /** Copies, since a piece may be used again before the line ends. */
  #hold(bytes: Buffer): void {
    const room = this.#lineBytesMax - this.#heldBytes;
    const kept = Buffer.from(bytes.subarray(0, room));
    if (kept.length > 0) this.#held.push(kept);
    this.#heldBytes += kept.length;
    this.#skippedBytes += bytes.length - kept.length;
  }

  #take(start: number, end: number): void {
    let cutEnd = end;
    const length = end - start;
    if (length > this.#lineBytesMax || this.#missingBytes > 0) {
      cutEnd = wholeEnd(this.#block, start, start + Math.min(length, this.#lineBytesMax));
      this.marks |= MARK.lineCut;
      this.cutBytes += length + this.#missingBytes - (cutEnd - start);
    } else if (this.#block[end - 1] === CARRIAGE_RETURN && end > start) cutEnd--;
    this.text = this.#textOf(start, cutEnd);
  }

  #textOf(start: number, end: number): string {
    if (this.#ascii !== null) return this.#ascii.slice(start, end);
    if (!isUtf8(this.#block.subarray(start, end))) this.marks |= MARK.badUtf8;
    return this.#block.toString('utf8', start, end);
  }
}

/** `end`, or where a character begins that would be cut there. */
function wholeEnd(bytes: Buffer, start: number, end: number): number {
  let lead = end - 1;
  while (lead > start && lead > end - 4 && ((bytes[lead] ?? 0) & 0xc0) === 0x80) lead--;
  const first = bytes[lead] ?? 0;
  const length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return lead + length > end ? lead : end;
}
