// One row on its way out: whole at first, then in ever smaller pieces, until those are found that the back end does
// not want. Answers come in; the next piece, what is settled and what is left come out. It sends nothing and knows no
// time, so a search can be followed in a test step by step.
//
// A piece is cut for one of two reasons. Its content was refused for good (400): refuse() cuts it, or sets it aside where
// it is a single point. Or nobody knows why it is refused (500): cut() cuts it on trial, and restore() takes that back
// where it has led to nothing (poison.ts).
//
// Metrics are cut by time first, and the older piece goes first: a back end that takes no older samples must not be
// made to refuse good ones. Of one time the largest piece goes first: when the requests are used up, what is left
// unsent is small. What is refused after PATIENCE others is looked into last, so that many bad points cost the good
// ones nothing. At most REQUESTS_MAX answers are spent on a row whose content is refused; whatever is left then is set
// aside unsent.

import type { Signal } from '../../model/batch.ts';
import { compress, decompress } from '../queue/compression.ts';
import type { QueueRow, RowRest, SetAside, Settlement } from '../queue/queue.ts';
import {
  countPoints,
  cutAt,
  firstPoint,
  halveRequest,
  middle,
  timesOf,
  timeToCutAt,
} from '../queue/split.ts';
import type { SendRequest } from './transport.ts';

/** How many answers a row may cost once its content was refused; and how often it is cut on trial (J.3). */
export const REQUESTS_MAX = 64;
/** After so many refusals in a row, what is refused next is put off: as many as it takes to find one point by its time. */
const PATIENCE = 12;
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
  /** Of its oldest and its newest point; 0 where times do not matter, as those of log records. */
  readonly fromNs: number;
  readonly toNs: number;
  /** It is looked into when nothing else is left. */
  readonly isPutOff: boolean;
  /** All of it was sent before, and no answer has decided about it. */
  isResend: boolean;
  /** It cannot be cut on trial: a single point, or the cuts of its row are used up. */
  isUncut: boolean;
  /** Of what is under suspicion: the rounds that speak against it, see poison.ts; null for all else. */
  suspicion: number | null;
}

/** The pieces of a row at one time, to go back to. */
export interface Mark {
  readonly pieces: readonly Piece[];
  readonly cutCount: number;
  readonly decisionCount: number;
}

type Tally = { -readonly [key in keyof Settlement]: Settlement[key] };

export class Delivery {
  readonly row: QueueRow;
  /** The whole row while that has not been refused; its slices have no bytes. */
  readonly #whole: Piece;
  #waiting: Piece[];
  #answerCount = 0;
  #refusalsInRow = 0;
  #decisionCount = 0;
  #cutCount = 0;
  #tallies = new Map<string, Tally>();
  #aside: SetAside[] = [];
  #refusal = { reason: '', atMs: 0 };
  /** Rounds in a row in which nothing of it was accepted, see poison.ts. */
  vainRounds = 0;

  constructor(row: QueueRow) {
    this.row = row;
    const slices = slicesOf(row, Buffer.alloc(0));
    this.#whole = newPiece(slices, { fromNs: 0, toNs: 0, isPutOff: false });
    this.#waiting = [this.#whole];
  }

  /** False while the row waits as it is stored. */
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

  /** All that waits, in the order in which it is to be sent. */
  pieces(): readonly Piece[] {
    return this.#waiting;
  }

  /** The row has left the queue: nothing of it waits any more. */
  drop(): void {
    this.#waiting = [];
  }

  /** The back end took a piece, of which it rejected some points. */
  accept(rejected: number, piece: Piece | undefined = this.next()): void {
    if (piece === undefined) return;
    this.#take(piece);
    if (this.#answerCount > 0) this.#answerCount++;
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
   * The back end refused the content of a piece for good, in these words. `raw` is the row's uncompressed payload,
   * needed while the row is whole; null when it cannot be read.
   */
  refuse(
    reason: string,
    atMs: number,
    raw: Buffer | null,
    piece: Piece | undefined = this.next(),
  ): void {
    if (piece === undefined) return;
    this.#take(piece);
    this.#answerCount++;
    this.#refusal = { reason, atMs };
    this.#refusalsInRow++;
    const slices = this.#slicesOf(piece, raw);
    const isPutOff = piece.isPutOff || this.#refusalsInRow > PATIENCE;
    const halves = piece === this.#whole && raw === null ? null : halve(this.row.signal, slices);
    if (halves === null) this.#putAside({ ...piece, slices }, reason);
    else this.#add(halves, { isPutOff, isResend: false });
    this.#endAtLimit();
  }

  /** Gives up a piece as it is: rounds have shown that nobody wants it. */
  giveUp(reason: string, atMs: number, raw: Buffer | null, piece: Piece): void {
    this.#take(piece);
    this.#refusal = { reason, atMs };
    this.#putAside({ ...piece, slices: this.#slicesOf(piece, raw) }, reason);
  }

  /** Puts two halves in the place of a piece; false when it cannot be cut. `raw` as for refuse(). */
  cut(piece: Piece, raw: Buffer | null): boolean {
    const halves = this.#cutCount < REQUESTS_MAX ? this.#halve(piece, raw) : null;
    piece.isUncut = halves === null;
    if (halves === null) return false;
    this.#cutCount++;
    this.#waiting = this.#waiting.filter(some => some !== piece);
    this.#add(halves, piece);
    return true;
  }

  mark(): Mark {
    const [cutCount, decisionCount] = [this.#cutCount, this.#decisionCount];
    return { pieces: [...this.#waiting], cutCount, decisionCount };
  }

  /** Undoes what was cut since, unless something was decided since. */
  restore({ pieces, cutCount, decisionCount }: Mark): void {
    if (decisionCount !== this.#decisionCount) return;
    this.#waiting = [...pieces];
    this.#cutCount = cutCount;
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

  #take(piece: Piece): void {
    this.#decisionCount++;
    this.#waiting = this.#waiting.filter(some => some !== piece);
  }

  #add(halves: Halves, like: Pick<Piece, 'isPutOff' | 'isResend'>): void {
    const { signal } = this.row;
    for (const half of halves) this.#waiting.push(pieceOf(signal, half, like));
    // Stable: pieces of equal size keep their order.
    this.#waiting.sort(byTurn);
  }

  #halve(piece: Piece, raw: Buffer | null): Halves | null {
    if (piece.points < 2 || (piece === this.#whole && raw === null)) return null;
    return halve(this.row.signal, this.#slicesOf(piece, raw));
  }

  #slicesOf(piece: Piece, raw: Buffer | null): readonly Slice[] {
    return piece === this.#whole && raw !== null ? slicesOf(this.row, raw) : piece.slices;
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

/** The request that a piece of a row makes: the row as it is stored, or the piece alone. */
export async function requestOf({ row, isSplit }: Delivery, piece: Piece): Promise<SendRequest> {
  const { signal, encoding, body, rawBytes } = row;
  if (!isSplit) return { signal, encoding, body, rawBytes };
  const bytes = pieceBytes(piece);
  return { signal, encoding, body: await compress(encoding, bytes), rawBytes: bytes.length };
}

export function pieceBytes(piece: Piece): Buffer {
  return Buffer.concat(piece.slices.map(slice => slice.bytes));
}

/** The uncompressed payload of a row, needed to cut it while it is whole; null when it cannot be read. */
export async function rawOf({ row, isSplit }: Delivery): Promise<Buffer | null> {
  if (isSplit) return null;
  try {
    return await decompress(row.encoding, row.body, row.rawBytes);
  } catch {
    return null;
  }
}

/** What is left of a row that was settled in part, as a row. */
export async function restOf(delivery: Delivery): Promise<RowRest> {
  const { encoding } = delivery.row;
  const slices = delivery.rest();
  let rawBytes = 0;
  const parts = slices.map(({ service, points, bytes: { length } }) => {
    const part = { service, points, offset: rawBytes, length };
    rawBytes += length;
    return part;
  });
  const body = await compress(encoding, Buffer.concat(slices.map(slice => slice.bytes)));
  return { encoding, body, rawBytes, parts };
}

function newPiece(
  slices: readonly Slice[],
  place: Pick<Piece, 'fromNs' | 'toNs' | 'isPutOff'>,
): Piece {
  const points = pointsIn(slices);
  return { slices, points, ...place, isResend: false, isUncut: points < 2, suspicion: null };
}

function pieceOf(
  signal: Signal,
  slices: readonly Slice[],
  { isPutOff, isResend }: Pick<Piece, 'isPutOff' | 'isResend'>,
): Piece {
  const times = signal === 'metrics' ? slices.flatMap(({ bytes }) => timesOf(bytes)) : [];
  const fromNs = times.reduce((oldest, time) => Math.min(oldest, time), times[0] ?? 0);
  const toNs = times.reduce((newest, time) => Math.max(newest, time), 0);
  return { ...newPiece(slices, { fromNs, toNs, isPutOff }), isResend };
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
