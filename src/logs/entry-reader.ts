// Reads one entry of an archive from the last position: skips the bytes that were read if they are unchanged, splits
// the rest into lines, removes the wrappers, and turns the lines into records with the reader of the log's type. At any
// time `progress` shows how far the returned records reach. It is stored together with them, so that the next read
// continues after them and loses nothing.
//
//   0 ──────── done ───────▶ progress.bytes ─ lines ─▶ position ─ held back ─▶ end
//      same hash, or read            records, some of            no line end yet, or
//      again from 0                  them open in reader         a partial line

import { isAscii, isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { compileForWork } from '../lib/footprint.ts';
import { type LineReader, MARK, type ParsedRecord } from './record.ts';
import { type EntryProgress, savedReader } from './stored-state.ts';
import { Unwrapper, type UnwrapOptions } from './unwrap.ts';

export type { EntryProgress } from './stored-state.ts';

export interface EntryReaderOptions {
  /** Null for an entry that is new or read again. */
  readonly progress: EntryProgress | null;
  /** Owned by the EntryReader from now on. */
  readonly reader: LineReader;
  readonly unwrap: UnwrapOptions;
}

/** A character needs at most six bytes in JSON, as `\u00e9`; the object around it a few more. */
const JSON_LINE_FACTOR = 6;
const JSON_LINE_EXTRA_BYTES = 4096;

const NOTHING = Buffer.alloc(0);

export class EntryReader {
  /** The records of the last `next` or `end`. */
  records: ParsedRecord[] = [];
  /** True once a line had no time from the service. */
  isUntimed = false;
  readonly #done: EntryProgress | null;
  readonly #reader: LineReader;
  readonly #splitter: LineSplitter;
  readonly #isJson: boolean;
  readonly #unwrapper: Unwrapper;
  /** The hash of the bytes before #hashedBytes, so that each byte is hashed once. */
  readonly #hash = createHash('sha256');
  #hashedBytes = 0;
  /** The hash up to the last line that began in a piece before the current one. */
  #lineHash: Hash = this.#hash;
  #piece: Buffer = NOTHING;
  #pieceOffset = 0;
  #lines: number;
  /** The last position at which no line is incomplete, and the hash up to there. */
  #safe: { readonly bytes: number; readonly lines: number; readonly hash: Hash };

  constructor({ progress, reader, unwrap }: EntryReaderOptions) {
    this.#done = progress;
    this.#reader = reader;
    reader.restore(progress?.reader ?? '');
    const { format, lineBytesMax } = unwrap;
    this.#isJson = format === 'json';
    const jsonBytesMax = lineBytesMax * JSON_LINE_FACTOR + JSON_LINE_EXTRA_BYTES;
    const bytes = progress?.bytes ?? 0;
    this.#splitter = new LineSplitter(this.#isJson ? jsonBytesMax : lineBytesMax, bytes);
    this.#unwrapper = new Unwrapper(unwrap, line => {
      this.isUntimed ||= Number.isNaN(line.timeMs);
      for (const record of this.#reader.push(line)) this.records.push(record);
    });
    this.#lines = progress?.lines ?? 0;
    this.#safe = { bytes: 0, lines: this.#lines, hash: this.#hash.copy() };
  }

  /** Bytes that were cut off lines over the limit. */
  get cutBytes(): number {
    return this.#splitter.cutBytes;
  }

  /** Bytes of the entry fed so far, including those read earlier. */
  get seenBytes(): number {
    return this.#pieceOffset + this.#piece.length;
  }

  /** True while it skips the bytes that were read earlier. */
  get isBehind(): boolean {
    return this.seenBytes < (this.#done?.bytes ?? 0);
  }

  /**
   * Takes the next bytes, whose memory may be reused once `next` has returned false. False when the beginning of the
   * entry has changed: then it must be read from the start.
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
      if (unwrapper.pendingOffset < 0) this.#markSafe(splitter.position);
      this.#passPiece();
      return false;
    }
    unwrapper.push(splitter.text, splitter.offset, splitter.marks);
    const { pendingOffset } = unwrapper;
    if (pendingOffset >= 0 && pendingOffset !== pendingBefore) this.#markSafe(splitter.offset);
    this.#lines++;
    return true;
  }

  /**
   * Ends the entry. False when it is shorter than the bytes read before. With `isFinal` it also returns the incomplete
   * line and the open record.
   */
  end(isFinal: boolean): boolean {
    this.records = [];
    if (this.isBehind) return false;
    if (isFinal) this.#giveHeld(MARK.lineOpen);
    return true;
  }

  /** Ends the entry at a limit: also returns the open record, and the incomplete line with a mark. */
  cut(): void {
    this.records = [];
    this.#giveHeld(MARK.lineCut);
  }

  #giveHeld(endMarks: number): void {
    const records: ParsedRecord[] = [];
    // A part of a JSON object cannot be read.
    if (endMarks !== MARK.lineCut || !this.#isJson) this.#splitter.feedEnd(endMarks);
    while (this.next()) records.push(...this.records);
    this.records = records;
    this.#unwrapper.flush(endMarks);
    records.push(...this.#reader.flush());
    this.#markSafe(this.#splitter.position);
  }

  /** How far the returned records reach, including those of the last `next`. */
  progress(): EntryProgress {
    const isPending = this.#unwrapper.pendingOffset >= 0;
    if (!isPending) this.#markSafe(this.#splitter.position);
    const { bytes, lines } = this.#safe;
    const hasTail = this.#splitter.hasTail || isPending;
    const saved = savedReader(this.#reader.save());
    return { bytes, lines, hash: this.#hashText(), hasTail, ...saved };
  }

  #passPiece(): void {
    const { position } = this.#splitter;
    if (position >= this.#hashedBytes && position < this.seenBytes)
      this.#lineHash = this.#hashTo(position);
    this.#hashTo(this.seenBytes);
    this.#pieceOffset += this.#piece.length;
    this.#piece = NOTHING;
  }

  #hashTo(bytes: number): Hash {
    const from = this.#hashedBytes - this.#pieceOffset;
    this.#hash.update(this.#piece.subarray(from, bytes - this.#pieceOffset));
    this.#hashedBytes = bytes;
    return this.#hash.copy();
  }

  #hashText(): string {
    return this.#safe.hash.copy().digest('hex');
  }

  /** A position before the current piece is the beginning of the line that ends in it. */
  #markSafe(bytes: number): void {
    if (bytes <= this.#safe.bytes || bytes > this.seenBytes) return;
    const hash = bytes < this.#hashedBytes ? this.#lineHash : this.#hashTo(bytes);
    this.#safe = { bytes, lines: this.#lines, hash };
  }
}

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
/**
 * Splits an entry's bytes, in pieces of any size, into lines. An incomplete line is held back until its end comes. The
 * held bytes are bounded: the rest of a line over the limit is skipped and counted.
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
  /** Where the next line begins. */
  position: number;
  /** Bytes skipped because of the limit. */
  cutBytes = 0;
  readonly #lineBytesMax: number;
  /** Complete lines, and where the next one begins. */
  #block: Buffer = NOTHING;
  #start = 0;
  /** The block as text if it is ASCII: then characters are bytes. */
  #ascii: string | null = null;
  /** Bytes of the block's first line that are not in it. */
  #missingBytes = 0;
  /** The pieces of an incomplete line, and how much of it was skipped. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #skippedBytes = 0;
  #joined: Buffer = NOTHING;
  /** True while the block is a line without a line end in the entry; it gets these marks. */
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

  /** Requires that all earlier lines were taken. The piece must not change before the next call. */
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

  /** Moves to the next line; false when there is none left. */
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
    // The rest of a line over the limit is skipped up to its end.
    const from = this.#skippedBytes > 0 ? piece.indexOf(NEWLINE) : 0;
    if (this.#skippedBytes > 0) this.#missingBytes = this.#skippedBytes + from;
    const lines = piece.subarray(from, end);
    this.#block = this.#heldBytes > 0 ? this.#join(lines) : lines;
    this.#ascii = isAscii(this.#block) ? this.#block.toString('latin1') : null;
    this.#held = [];
    this.#heldBytes = 0;
    this.#skippedBytes = 0;
  }

  /** Reuses one buffer: a new one for each piece would be gigabytes of garbage. */
  #join(lines: Buffer): Buffer {
    const bytes = this.#heldBytes + lines.length;
    if (bytes > this.#joined.length) this.#joined = Buffer.allocUnsafeSlow(2 * bytes);
    let end = 0;
    for (const held of this.#held) end += held.copy(this.#joined, end);
    lines.copy(this.#joined, end);
    return this.#joined.subarray(0, bytes);
  }

  /** Copies, because the memory of a piece may be reused before the line ends. */
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

/** `end`, or the start of the character that `end` would cut. */
function wholeEnd(bytes: Buffer, start: number, end: number): number {
  let lead = end - 1;
  while (lead > start && lead > end - 4 && ((bytes[lead] ?? 0) & 0xc0) === 0x80) lead--;
  const first = bytes[lead] ?? 0;
  const length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return lead + length > end ? lead : end;
}
