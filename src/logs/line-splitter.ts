// Cuts an entry's bytes into lines while they come in pieces of any size. A line without its end is held back
// until the end comes; what is held is bounded: of a line over the limit the rest is passed over and counted.
//
//   splitter.feed(piece);
//   while (splitter.next()) use(splitter.text, splitter.offset, splitter.marks);

import { isAscii, isUtf8 } from 'node:buffer';
import { MARK } from './record.ts';

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
const NOTHING = Buffer.alloc(0);

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

  /** True when bytes stand behind the last line end. */
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

  /** Takes the bytes behind the last line end for a line, with these marks. */
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
