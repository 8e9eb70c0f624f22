// One row while it is sent: whole at first, then in ever smaller pieces, until the refused points are found. In:
// answers. Out: the next piece, the settlements and the rest of the row. It does no IO and reads no clock, so that a
// test can follow a search step by step. A whole row is unpacked when it must be split.
//
// A piece is split for one of two reasons. The back end refused its content for good (400): refuse() splits it, or
// sets a single point aside. Or the reason is unknown (500): cut() splits it on trial. A trial without a result is
// undone (poison.ts).
//
// Metrics are split by time first, and the older piece is sent first, because a back end may refuse samples older than
// its newest. Among pieces of one time the largest goes first, so that little is left when the requests are used up.
// After PATIENCE refusals in a row the refused pieces go last, so that many bad points do not block good ones. A row
// whose content is refused gets at most REQUESTS_MAX requests; its rest is then set aside unsent.

import type { Signal } from '../../model/batch.ts';
import { decompress } from '../queue/compression.ts';
import type { QueueRow, SetAside, Settlement } from '../queue/commit.ts';
import { packSlices, type Slice, sumPoints } from '../queue/rows.ts';
import { type Outcome, SAMPLE_BYTES_MAX } from '../queue/transactions.ts';
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

/** The most answers for a row whose content was refused, and the most cuts on trial (J.3). */
export const REQUESTS_MAX = 64;
/** After this many refusals in a row a refused piece is put off; this many suffice to find one point by its time. */
const PATIENCE = 12;

interface PlacedSlice extends Slice {
  /** The number of points before it in the row. */
  readonly place: number;
}

/** A part of a row that is sent as one request. */
export interface Piece {
  readonly slices: readonly PlacedSlice[];
  readonly points: number;
  /** The times of its oldest and newest point; 0 for log records, whose times do not matter. */
  readonly fromNs: number;
  readonly toNs: number;
  /** It is sent after all others. */
  readonly isPutOff: boolean;
  /** All its points were sent before without a decision. */
  isResend: boolean;
  /** It cannot be cut on trial: it is a single point, or the cuts of its row are used up. */
  isUncut: boolean;
  /** The number of rounds that count against a suspect, see poison.ts; null if it is no suspect. */
  suspicion: number | null;
}

type Tally = { -readonly [key in keyof Settlement]: Settlement[key] };

export class Delivery {
  readonly row: QueueRow;
  /** The row before it is split; its slices have no bytes. */
  readonly #whole: Piece;
  #waiting: Piece[];
  #answerCount = 0;
  #refusalsInRow = 0;
  #decisionCount = 0;
  #cutCount = 0;
  #tallies = new Map<string, Tally>();
  #aside: SetAside[] = [];
  #refusal = { reason: '', atMs: 0 };
  /** Rounds in a row in which nothing of the row was accepted, see poison.ts. */
  vainRounds = 0;
  /** The back end has accepted a piece, or answers differently to an empty request. So content causes its refusals. */
  isContentRefused = false;

  constructor(row: QueueRow) {
    this.row = row;
    const slices = slicesOf(row, Buffer.alloc(0));
    this.#whole = pieceOf(slices, [], { isPutOff: false, isResend: false });
    this.#waiting = [this.#whole];
  }

  /** False while the row is sent as it is stored. */
  get isSplit(): boolean {
    return this.#waiting[0] !== this.#whole;
  }

  get isDone(): boolean {
    return this.#waiting.length === 0;
  }

  /** All pieces without a decision, in the order of sending: the first one is the next to send. */
  pieces(): readonly Piece[] {
    return this.#waiting;
  }

  /** Drops all pieces, because the row has left the queue. */
  drop(): void {
    this.#decisionCount++;
    this.#waiting = [];
  }

  /** The back end accepted a piece except for `rejected` of its points. */
  accept(rejected: number, piece: Piece): void {
    this.#take(piece);
    this.isContentRefused = true;
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

  /** The back end refused the content of a piece for good. A row that cannot be read is set aside whole. */
  async refuse(reason: string, atMs: number, piece: Piece): Promise<void> {
    const slices = await this.#unpacked(piece);
    this.#take(piece);
    this.#answerCount++;
    this.#refusal = { reason, atMs };
    this.#refusalsInRow++;
    const isPutOff = piece.isPutOff || this.#refusalsInRow > PATIENCE;
    const halves = slices === null ? null : halve(this.row.signal, slices);
    if (halves === null) this.#putAside(slices ?? piece.slices, reason);
    else this.#add(halves, { isPutOff, isResend: false });
    this.#endAtLimit();
  }

  /** Sets a piece aside that the back end refused in many rounds. */
  async giveUp(reason: string, atMs: number, piece: Piece): Promise<void> {
    const slices = await this.#unpacked(piece);
    this.#take(piece);
    this.#refusal = { reason, atMs };
    this.#putAside(slices ?? piece.slices, reason);
  }

  /** Replaces a piece by its halves; false when it cannot be split. */
  async cut(piece: Piece): Promise<boolean> {
    const mayCut = piece.points > 1 && this.#cutCount < REQUESTS_MAX;
    const slices = mayCut ? await this.#unpacked(piece) : null;
    const halves = slices === null ? null : halve(this.row.signal, slices);
    piece.isUncut = halves === null;
    if (halves === null) return false;
    this.#cutCount++;
    this.#waiting = this.#waiting.filter(some => some !== piece);
    this.#add(halves, piece);
    return true;
  }

  /** Returns a function that undoes all later cuts, unless an answer has decided about a piece by then. */
  mark(): () => void {
    const [waiting, cutCount, decisionCount] = [
      [...this.#waiting],
      this.#cutCount,
      this.#decisionCount,
    ];
    return () => {
      if (decisionCount !== this.#decisionCount) return;
      this.#waiting = waiting;
      this.#cutCount = cutCount;
    };
  }

  /** The decisions since the last call; empty when there were none. */
  takeOutcome(): Pick<Outcome, 'settlements' | 'aside'> {
    const outcome = { settlements: [...this.#tallies.values()], aside: this.#aside };
    this.#tallies = new Map();
    this.#aside = [];
    return outcome;
  }

  /** The undecided slices of a split row, one for each service, in the order of the row. */
  rest(): readonly PlacedSlice[] {
    const slices = this.#waiting.flatMap(piece => piece.slices).sort((a, b) => a.place - b.place);
    return [...Map.groupBy(slices, ({ service }) => service).values()].map(joinSlices);
  }

  #take(piece: Piece): void {
    this.#decisionCount++;
    this.#waiting = this.#waiting.filter(some => some !== piece);
  }

  #add(halves: Halves, like: Pick<Piece, 'isPutOff' | 'isResend'>): void {
    const { signal } = this.row;
    for (const half of halves) this.#waiting.push(pieceOf(half, timesIn(signal, half), like));
    // Stable: pieces of equal size keep their order.
    this.#waiting.sort(byTurn);
  }

  /** The slices of a piece with their bytes; null when the row cannot be read. */
  async #unpacked(piece: Piece): Promise<readonly PlacedSlice[] | null> {
    if (piece !== this.#whole) return piece.slices;
    const { encoding, body, rawBytes } = this.row;
    const raw = await decompress(encoding, body, rawBytes).catch(() => null);
    return raw === null ? null : slicesOf(this.row, raw);
  }

  #endAtLimit(): void {
    if (this.#answerCount < REQUESTS_MAX) return;
    const left = this.#waiting;
    this.#waiting = [];
    const reason = `not sent, ${String(REQUESTS_MAX)} requests were spent: ${this.#refusal.reason}`;
    for (const { slices } of left) this.#putAside(slices, reason);
  }

  #putAside(slices: readonly PlacedSlice[], reason: string): void {
    const { signal } = this.row;
    const { atMs } = this.#refusal;
    for (const { service, points, bytes } of slices) {
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

/** The request for a piece: the row as it is stored, or the piece compressed. */
export async function requestOf(
  { row, isSplit }: Delivery,
  { slices }: Piece,
): Promise<SendRequest> {
  return isSplit ? { signal: row.signal, ...(await packSlices(row.encoding, slices)) } : row;
}

/** Makes a piece. `times`: the times of its points. */
function pieceOf(
  slices: readonly PlacedSlice[],
  times: readonly number[],
  { isPutOff, isResend }: Pick<Piece, 'isPutOff' | 'isResend'>,
): Piece {
  const points = sumPoints(slices);
  const fromNs = times.reduce((oldest, time) => Math.min(oldest, time), times[0] ?? 0);
  const toNs = times.reduce((newest, time) => Math.max(newest, time), 0);
  const isUncut = points < 2;
  return { slices, points, fromNs, toNs, isPutOff, isResend, isUncut, suspicion: null };
}

function timesIn(signal: Signal, slices: readonly PlacedSlice[]): readonly number[] {
  return signal === 'metrics' ? slices.flatMap(({ bytes }) => timesOf(bytes)) : [];
}

function byTurn(a: Piece, b: Piece): number {
  if (a.isPutOff !== b.isPutOff) return a.isPutOff ? 1 : -1;
  const byTime = a.isPutOff ? 0 : a.fromNs - b.fromNs;
  return byTime === 0 ? b.points - a.points : byTime;
}

function slicesOf(row: QueueRow, raw: Buffer): readonly PlacedSlice[] {
  let place = 0;
  return row.parts.map(({ service, points, offset, length }) => {
    const slice = { service, points, bytes: raw.subarray(offset, offset + length), place };
    place += points;
    return slice;
  });
}

/** Concatenated requests are one request. */
function joinSlices(slices: readonly PlacedSlice[]): PlacedSlice {
  const { service = '', place = 0 } = slices[0] ?? {};
  return {
    service,
    points: sumPoints(slices),
    bytes: Buffer.concat(slices.map(slice => slice.bytes)),
    place,
  };
}

type Halves = readonly [readonly PlacedSlice[], readonly PlacedSlice[]];

/** Splits by time, else between services, else within the only service; null for a single point. */
function halve(signal: Signal, slices: readonly PlacedSlice[]): Halves | null {
  const time = timeToCutAt(timesIn(signal, slices));
  if (time !== null) return halveByTime(slices, time);
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

function halveByTime(slices: readonly PlacedSlice[], time: number): Halves {
  const pairs = slices.map(slice => shareSlice('metrics', slice, cutAt(slice.bytes, time)));
  const hasBytes = ({ bytes }: PlacedSlice): boolean => bytes.length > 0;
  return [
    pairs.map(([older]) => older).filter(hasBytes),
    pairs.map(([, newer]) => newer).filter(hasBytes),
  ];
}

/** The halves share the number of points in the row's index, which the account counts, whatever the bytes contain. */
function shareSlice(
  signal: Signal,
  { service, points, place }: PlacedSlice,
  [first, second]: readonly [Buffer, Buffer],
): readonly [PlacedSlice, PlacedSlice] {
  const inFirst = second.length === 0 ? points : Math.min(countPoints(signal, first), points);
  return [
    { service, points: inFirst, bytes: first, place },
    { service, points: points - inFirst, bytes: second, place: place + inFirst },
  ];
}

/**
 * The back end says how many points of a request it rejected, but not which. The services share the number in
 * proportion to their points, so that at least the sum is right.
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
