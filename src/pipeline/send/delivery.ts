// One row on its way out: whole at first; once its content was refused, in ever smaller pieces, until those are
// found that the back end does not want. Answers come in, the next request and in the end the settlement come
// out. It does no IO and knows no time, so the search can be followed in a test step by step.
//
// The largest piece goes first: when the requests are used up, what is left unsent is small. At most
// REQUESTS_MAX answers are spent on a row; whatever is left then is set aside unsent.

import type { Signal } from '../../model.ts';
import type { QueueRow, SetAside, Settlement } from '../queue/queue.ts';
import { countPoints, firstPoint, halveRequest, middle } from '../queue/split.ts';

/** How many requests one row may cost, not counting those that no answer came to (J.3). */
export const REQUESTS_MAX = 64;
/** What is kept of a refused piece: all of it, or its first point, within this many bytes. */
export const SAMPLE_BYTES_MAX: number = 64 * 1024;

/** Bytes of one service: a request by themselves. */
interface Slice {
  readonly service: string;
  readonly points: number;
  readonly bytes: Buffer;
}

/** A part of a row that is sent at once. */
export interface Piece {
  readonly slices: readonly Slice[];
  readonly points: number;
}

type Tally = { -readonly [key in keyof Settlement]: Settlement[key] };

export class Delivery {
  readonly row: QueueRow;
  /** The whole row while that has not been refused; its slices have no bytes. */
  readonly #whole: Piece;
  #waiting: Piece[];
  #answerCount = 0;
  readonly #tallies = new Map<string, Tally>();
  readonly #aside: SetAside[] = [];
  #refusal = { reason: '', atMs: 0 };

  constructor(row: QueueRow) {
    this.row = row;
    const none = Buffer.alloc(0);
    this.#whole = pieceOf(
      row.parts.map(({ service, points }) => ({ service, points, bytes: none })),
    );
    this.#waiting = [this.#whole];
  }

  /** True from the first refusal on: what was accepted since then exists only here until the row is settled. */
  get isSplit(): boolean {
    return this.#waiting[0] !== this.#whole;
  }

  get isDone(): boolean {
    return this.#waiting.length === 0;
  }

  /** What to send next; the same until it is accepted or refused. Its bytes are empty for the whole row. */
  next(): Piece | undefined {
    return this.#waiting[0];
  }

  /** The back end took the next piece, of which it rejected some points. */
  accept(rejected: number): void {
    const piece = this.#take();
    if (piece === undefined) return;
    const shares = shareOut(rejected, piece);
    for (const [i, { service, points }] of piece.slices.entries()) {
      const tally = this.#tally(service);
      tally.rejected += shares[i] ?? 0;
      tally.accepted += points - (shares[i] ?? 0);
    }
    this.#endAtLimit();
  }

  /**
   * The back end refused the content of the next piece for good, in these words. `raw` is the row's
   * uncompressed payload, needed for the first refusal only; null when it cannot be read.
   */
  refuse(reason: string, atMs: number, raw: Buffer | null): void {
    const piece = this.#take();
    if (piece === undefined) return;
    this.#refusal = { reason, atMs };
    const whole = piece === this.#whole && raw !== null ? wholePiece(this.row, raw) : piece;
    const halves = whole === this.#whole ? null : halvePiece(this.row.signal, whole);
    if (halves === null) this.#putAside(whole, reason);
    else this.#waiting.push(...halves);
    // Stable: pieces of equal size keep their order.
    this.#waiting.sort((a, b) => b.points - a.points);
    this.#endAtLimit();
  }

  /** What became of the row, once it is done. */
  outcome(): { readonly settlements: readonly Settlement[]; readonly aside: readonly SetAside[] } {
    return { settlements: [...this.#tallies.values()], aside: this.#aside };
  }

  #take(): Piece | undefined {
    this.#answerCount++;
    return this.#waiting.shift();
  }

  #endAtLimit(): void {
    if (this.#answerCount < REQUESTS_MAX) return;
    const left = this.#waiting;
    this.#waiting = [];
    const reason = `not sent, ${String(REQUESTS_MAX)} requests were spent: ${this.#refusal.reason}`;
    for (const piece of left) this.#putAside(piece, reason);
  }

  #putAside(piece: Piece, reason: string): void {
    const { signal } = this.row;
    const { atMs } = this.#refusal;
    for (const { service, points, bytes } of piece.slices) {
      this.#tally(service).setAside += points;
      this.#aside.push({ signal, service, points, reason, sample: sampleOf(signal, bytes), atMs });
    }
  }

  #tally(service: string): Tally {
    let tally = this.#tallies.get(service);
    if (tally === undefined) {
      tally = { service, accepted: 0, rejected: 0, setAside: 0 };
      this.#tallies.set(service, tally);
    }
    return tally;
  }
}

/** The request that a piece of a split row makes. */
export function pieceBytes(piece: Piece): Buffer {
  return Buffer.concat(piece.slices.map(slice => slice.bytes));
}

function pieceOf(slices: readonly Slice[]): Piece {
  return { slices, points: slices.reduce((sum, slice) => sum + slice.points, 0) };
}

function wholePiece(row: QueueRow, raw: Buffer): Piece {
  return pieceOf(
    row.parts.map(({ service, points, offset, length }) => ({
      service,
      points,
      bytes: raw.subarray(offset, offset + length),
    })),
  );
}

/** Between services where there are several, else inside the one; null for a single point. */
function halvePiece(signal: Signal, piece: Piece): readonly [Piece, Piece] | null {
  const { slices } = piece;
  const [only] = slices;
  if (only === undefined) return null;
  if (slices.length > 1) {
    const cut = middle(slices.map(slice => slice.points));
    return [pieceOf(slices.slice(0, cut)), pieceOf(slices.slice(cut))];
  }
  const halves = halveRequest(signal, only.bytes);
  if (halves === null) return null;
  // The row's own count is the one in the account: the halves share it out, whatever the bytes hold.
  const firstPoints = Math.min(countPoints(signal, halves[0]), only.points);
  const { service } = only;
  return [
    pieceOf([{ service, points: firstPoints, bytes: halves[0] }]),
    pieceOf([{ service, points: only.points - firstPoints, bytes: halves[1] }]),
  ];
}

/**
 * The back end tells how many points of a request it rejected, not which: the number is shared out between
 * the services in proportion to their points, so that at least the sum is true.
 */
function shareOut(rejected: number, piece: Piece): readonly number[] {
  const count = Math.min(rejected, piece.points);
  let before = 0;
  let given = 0;
  return piece.slices.map(({ points }) => {
    before += points;
    const share = Math.round((count * before) / Math.max(piece.points, 1)) - given;
    given += share;
    return share;
  });
}

function sampleOf(signal: Signal, bytes: Buffer): Buffer {
  if (bytes.length <= SAMPLE_BYTES_MAX) return Buffer.from(bytes);
  const point = firstPoint(signal, bytes);
  return point.length <= SAMPLE_BYTES_MAX ? point : Buffer.alloc(0);
}
