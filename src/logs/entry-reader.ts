// Reads one file of an archive from where it was left: passes over the bytes that are done if they are still the
// same, cuts the rest into lines, takes the wrappers off and has the type's reader make records of them. At any
// moment `progress` says how far the records that were given so far reach: stored together with them, it makes
// the next read go on behind them, and nothing between is lost.
//
//   0 ──────── done ───────▶ progress.bytes ─ lines ─▶ position ─ held back ─▶ end
//      hash as before, or it         records, some of            no line end yet, or
//      is read again from 0          them open in reader         a part that goes on

import { createHash, type Hash } from 'node:crypto';
import { LineSplitter } from './line-splitter.ts';
import { compileForWork } from '../lib/footprint.ts';
import { type LineReader, MARK, type ParsedRecord } from './record.ts';
import { Unwrapper, type UnwrapOptions } from './unwrap.ts';

/** How far an entry has been read. Plain data that is stored as it is. */
export interface EntryProgress {
  readonly bytes: number;
  readonly lines: number;
  /** SHA-256 of the first `bytes`, in hex. */
  readonly hash: string;
  /** True when more bytes stood behind `bytes`, which were no whole line. */
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
  /** The records that the last `next` or `end` gave. */
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

  /** Takes the next bytes, which may be used again once `next` has given false. False when the entry does not begin as it did: then it must be read anew. */
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
   * Told that there are no more bytes. False when there are fewer than were read before. With `isFinal`, what
   * was held back is given, and the open record with it.
   */
  end(isFinal: boolean): boolean {
    this.records = [];
    if (this.isBehind) return false;
    if (isFinal) this.#giveHeld(0);
    return true;
  }

  /** Told that what follows is over a limit: gives what was held back. A line may lack its end, and is marked. */
  cut(): void {
    this.records = [];
    this.#giveHeld(MARK.lineCut);
  }

  #giveHeld(endMarks: number): void {
    const records: ParsedRecord[] = [];
    // Of an object in JSON a part says nothing.
    if (endMarks === 0 || !this.#isJson) this.#splitter.feedEnd(endMarks);
    while (this.next()) records.push(...this.records);
    this.records = records;
    this.#unwrapper.flush();
    records.push(...this.#reader.flush());
    this.#markSafe(this.#splitter.position);
  }

  /** How far the records that were given reach, those of the last `next` included. */
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
