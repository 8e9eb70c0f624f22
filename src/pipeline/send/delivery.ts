// One row on its way out: whole at first; once its content was refused, in ever smaller pieces, until those are
// found that the back end does not want. Answers come in, the next request, what is settled and what is left come
// out. It does no IO and knows no time, so the search can be followed in a test step by step.
//
// Metrics are cut by time first, and the older piece goes first: a back end that takes no older samples must not be
// made to refuse good ones. Of one time the largest piece goes first: when the requests are used up, what is left
// unsent is small. What is refused after PATIENCE others is looked into last, so that many bad points cost the good
// ones nothing. At most REQUESTS_MAX answers are spent on a row; whatever is left then is set aside unsent.

import type { Signal } from '../../model.ts';
import type { QueueRow, SetAside, Settlement } from '../queue/queue.ts';
import { countPoints, firstPoint, halveRequest, middle } from '../queue/split.ts';
import { cutAt, timesOf, timeToCutAt } from './cut-by-time.ts';

/** How many requests one row may cost, not counting those that no answer came to (J.3). */
export const REQUESTS_MAX = 64;
/** After so many refusals in a row, what is refused next is put off: as many as it takes to find one point by its time. */
export const PATIENCE = 12;
/** What is kept of a refused piece: all of it, or its first point, within this many bytes. */
export const SAMPLE_BYTES_MAX: number = 64 * 1024;

/** Bytes of one service: a request by themselves. */
interface Slice {
  readonly service: string;
  readonly points: number;
  readonly bytes: Buffer;
  /** How many points of the row stand before its own. */
  readonly place: number;
}

/** A part of a row that is sent at once. */
export interface Piece {
  readonly slices: readonly Slice[];
  readonly points: number;
  /** Of its oldest point; 0 where times do not matter, as those of log records. */
  readonly fromNs: number;
  /** It is looked into when nothing else is left. */
  readonly isPutOff: boolean;
}

type Tally = { -readonly [key in keyof Settlement]: Settlement[key] };

export class Delivery {
  readonly row: QueueRow;
  /** The whole row while that has not been refused; its slices have no bytes. */
  readonly #whole: Piece;
  #waiting: Piece[];
  #answerCount = 0;
  #refusalsInRow = 0;
  #tallies = new Map<string, Tally>();
  #aside: SetAside[] = [];
  #refusal = { reason: '', atMs: 0 };

  constructor(row: QueueRow) {
    this.row = row;
    const slices = slicesOf(row, Buffer.alloc(0));
    this.#whole = { slices, points: pointsIn(slices), fromNs: 0, isPutOff: false };
    this.#waiting = [this.#whole];
  }

  /** True from the first refusal on. */
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
    this.#refusalsInRow = 0;
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
    this.#refusalsInRow++;
    const { signal } = this.row;
    const whole = piece === this.#whole && raw !== null ? slicesOf(this.row, raw) : piece.slices;
    const halves = piece === this.#whole && raw === null ? null : halve(signal, whole);
    const isPutOff = piece.isPutOff || this.#refusalsInRow > PATIENCE;
    if (halves === null) this.#putAside({ ...piece, slices: whole }, reason);
    else this.#waiting.push(...halves.map(half => pieceOf(signal, half, isPutOff)));
    // Stable: pieces of equal size keep their order.
    this.#waiting.sort(byTurn);
    this.#endAtLimit();
  }

  /** What was decided since this was asked last: [] when nothing was. */
  takeOutcome(): {
    readonly settlements: readonly Settlement[];
    readonly aside: readonly SetAside[];
  } {
    const outcome = { settlements: [...this.#tallies.values()], aside: this.#aside };
    this.#tallies = new Map();
    this.#aside = [];
    return outcome;
  }

  /** What is still to be sent of a row that was split, service by service in the order of the row. */
  rest(): readonly Slice[] {
    const slices = this.#waiting.flatMap(piece => piece.slices).sort((a, b) => a.place - b.place);
    const services = new Map<string, Slice[]>();
    for (const slice of slices)
      services.set(slice.service, [...(services.get(slice.service) ?? []), slice]);
    return [...services.values()].map(joinSlices);
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

function pieceOf(signal: Signal, slices: readonly Slice[], isPutOff: boolean): Piece {
  const times = signal === 'metrics' ? slices.flatMap(({ bytes }) => timesOf(bytes)) : [];
  const fromNs = times.reduce((oldest, time) => Math.min(oldest, time), times[0] ?? 0);
  return { slices, points: pointsIn(slices), fromNs, isPutOff };
}

function pointsIn(slices: readonly Slice[]): number {
  return slices.reduce((sum, slice) => sum + slice.points, 0);
}

/** Which of two pieces is sent first. */
function byTurn(a: Piece, b: Piece): number {
  if (a.isPutOff !== b.isPutOff) return a.isPutOff ? 1 : -1;
  const byTime = a.isPutOff ? 0 : a.fromNs - b.fromNs;
  return byTime === 0 ? b.points - a.points : byTime;
}

function slicesOf(row: QueueRow, raw: Buffer): readonly Slice[] {
  let place = 0;
  return row.parts.map(({ service, points, offset, length }) => {
    const slice = { service, points, bytes: raw.subarray(offset, offset + length), place };
    place += points;
    return slice;
  });
}

/** Requests one after the other are one request. */
function joinSlices(slices: readonly Slice[]): Slice {
  const { service = '', place = 0 } = slices[0] ?? {};
  return {
    service,
    points: pointsIn(slices),
    bytes: Buffer.concat(slices.map(slice => slice.bytes)),
    place,
  };
}

type Halves = readonly [readonly Slice[], readonly Slice[]];

/** By time, else between services, else inside the one; null for a single point. */
function halve(signal: Signal, slices: readonly Slice[]): Halves | null {
  const byTime = signal === 'metrics' ? halveByTime(slices) : null;
  if (byTime !== null) return byTime;
  const [only] = slices;
  if (only === undefined) return null;
  if (slices.length > 1) {
    const cut = middle(slices.map(slice => slice.points));
    return [slices.slice(0, cut), slices.slice(cut)];
  }
  const halves = halveRequest(signal, only.bytes);
  if (halves === null) return null;
  const [first, second] = shareSlice(signal, only, halves);
  return [[first], [second]];
}

function halveByTime(slices: readonly Slice[]): Halves | null {
  const time = timeToCutAt(slices.flatMap(({ bytes }) => timesOf(bytes)));
  if (time === null) return null;
  const pairs = slices.map(slice => shareSlice('metrics', slice, cutAt(slice.bytes, time)));
  const hasBytes = ({ bytes }: Slice): boolean => bytes.length > 0;
  return [
    pairs.map(([older]) => older).filter(hasBytes),
    pairs.map(([, newer]) => newer).filter(hasBytes),
  ];
}

/** The row's own count is the one in the account: the halves share it out, whatever the bytes hold. */
function shareSlice(
  signal: Signal,
  { service, points, place }: Slice,
  [first, second]: readonly [Buffer, Buffer],
): readonly [Slice, Slice] {
  const inFirst = second.length === 0 ? points : Math.min(countPoints(signal, first), points);
  return [
    { service, points: inFirst, bytes: first, place },
    { service, points: points - inFirst, bytes: second, place: place + inFirst },
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
