// One row while it is sent: whole at first, then in pieces once the back end refuses it. In: answers. Out: the next piece
// to send, and in the end the counts of the whole row. It does no IO and reads no clock, so that a test can follow a
// split step by step. Pieces live in memory only: after a kill the row goes out whole again.
//
//   too large   to the limit that the back end's words name, if they do. Else, and for
//   refused     a probe of PROBE_POINTS, once. Accepted: pieces of twice as many points follow. One of them is refused:
//               size may be the cause, so the rest goes out in pieces of the largest accepted size. If one of those is
//               refused, content is the cause, and the rest is split further, older points first, with at most
//               REQUESTS_MAX requests for the row
//   a refused   a trial of halves and quarters (too large: until they are accepted), once. Nothing accepted: the piece
//   probe       waits as it was, because the back end may refuse everything. One is accepted: content is the cause
//
// Of such a row, what is refused alone is *doubtful*: it is sent once more after the back end accepted other points, and
// set aside if it is refused again. So nothing is set aside unless the same back end accepted points in between. Until
// then the row is parked: the sender goes on with later rows.
//
// Older points go first, because a back end may refuse samples older than its newest.

import type { Signal } from '../../model/batch.ts';
import { decompress } from '../queue/compression.ts';
import type { QueueRow, RequestLimit, SetAside, Settlement } from '../queue/commit.ts';
import { fitSlices, packSlices, type Slice, sumPoints } from '../queue/rows.ts';
import { SAMPLE_BYTES_MAX } from '../queue/transactions.ts';
import {
  countPoints,
  cutAfter,
  cutAt,
  firstPoint,
  halveRequest,
  middle,
  timesOf,
  timeToCutAt,
} from '../queue/split.ts';
import type { SendRequest } from './transport.ts';

/** The most requests for a row whose content is refused (J3). */
export const REQUESTS_MAX = 64;
/** So many points are sent alone after a larger piece was refused. No cap on points is known to be lower. */
export const PROBE_POINTS = 100;
/** After this many refusals in a row a refused piece is put off, so that many bad points do not block good ones. */
const PATIENCE = 12;
/** A trial splits twice: halves, then quarters. */
const TRIAL_LEVELS = 2;
/** With this many single points too large and nothing accepted, no size is small enough. */
const TOO_LARGE_MAX = 4;

/** Where and why the back end refused a piece last. */
export interface Refused {
  readonly reason: string;
  readonly status: number;
  readonly atMs: number;
  /** How many requests the back end had accepted by then. */
  readonly acceptances: number;
}

/** A part of a row that is sent as one request. */
export interface Piece {
  readonly slices: readonly Slice[];
  readonly points: number;
  /** Uncompressed. */
  readonly bytes: number;
  /** The time of its oldest point; 0 for log records, whose times do not matter. */
  readonly fromNs: number;
  /** It is sent after all others. */
  readonly isPutOff: boolean;
  /** How often it was split in its trial. */
  readonly level: number;
  /** All its points were sent before without a decision. */
  isResend: boolean;
  /** Its halves and quarters were tried in vain: the status that all of them got. */
  triedFor: number | null;
  /** Set while it is doubtful. */
  refused: Refused | null;
}

/** The pieces of one piece that was refused, before any of them is accepted. */
interface Trial {
  readonly root: Piece;
  /** How often to split; without a limit for a request that is too large. */
  readonly levels: number;
  waiting: Piece[];
  /** They cannot be split further in this trial. */
  readonly refused: Piece[];
}

/** The oldest points of a piece that was refused, and what is left of it. */
interface Probe {
  readonly root: Piece;
  readonly status: number;
  readonly piece: Piece;
  readonly rest: readonly Piece[];
}

type Tally = { -readonly [key in keyof Settlement]: Settlement[key] };

export class Delivery {
  readonly row: QueueRow;
  /** The row before it is split; its slices have no bytes. */
  readonly #whole: Piece;
  /** In the order of sending. */
  #waiting: Piece[];
  #doubtful: Piece[] = [];
  #trial: Trial | null = null;
  #probe: Probe | null = null;
  /** The most points of the next piece, since a probe was accepted; 0 before that. */
  #windowPoints = 0;
  /** The largest piece that the back end accepted. */
  #largest: RequestLimit | null = null;
  /** A piece larger than that was refused, so size may be the cause. */
  #maySizeMatter = false;
  /** The cause is content: a piece was accepted, or other points between two refusals of this row. */
  #isContent = false;
  #hasAccepted = false;
  #refusalsInRow = 0;
  #lastRefused: Refused | null = null;
  /** With which status the back end refuses the content of this row. */
  #status = 0;
  /** Requests for a row with refused content. */
  #requestCount = 0;
  readonly #tallies = new Map<string, Tally>();
  readonly #aside: SetAside[] = [];
  /** Monotonic: since when the back end refuses the row, or since it was put to the test. */
  refusedSinceMs: number | null = null;
  /** It was put to the test, and the other row was not accepted. */
  wasTested = false;
  /** A failure of the back end counts as a refusal of content, because a test has shown that (sender.ts). */
  isUnknownContent = false;
  /** The back end said that a piece was too large. */
  #wasTooLarge = false;

  constructor(row: QueueRow) {
    this.row = row;
    this.#whole = pieceOf(row.signal, slicesOf(row, Buffer.alloc(0)), row.rawBytes);
    this.#waiting = [this.#whole];
  }

  get isDone(): boolean {
    return this.#trial === null && this.#waiting.length === 0 && this.#doubtful.length === 0;
  }

  /** Part of it is decided. Only the process knows that: the row must not be evicted. */
  get isBegun(): boolean {
    return this.#tallies.size > 0;
  }

  /** The piece to send next; null when the row is done, or parked. `acceptances`: of the back end so far. */
  next(acceptances: number): Piece | null {
    const [piece] =
      this.#probe === null ? (this.#trial?.waiting ?? this.#waiting) : [this.#probe.piece];
    const isDue = ({ refused }: Piece): boolean => (refused?.acceptances ?? 0) < acceptances;
    return piece ?? this.#doubtful.find(isDue) ?? null;
  }

  /** Drops all pieces, because the row has left the queue. */
  drop(): void {
    this.#trial = null;
    this.#probe = null;
    this.#waiting = [];
    this.#doubtful = [];
  }

  /** The largest accepted piece, once all that was refused beside it was larger; null when that taught nothing. */
  get learned(): RequestLimit | null {
    const isLearned = this.#wasTooLarge || (this.#maySizeMatter && !this.#isContent);
    return isLearned ? this.#largest : null;
  }

  /** Cuts what is larger than the back end is known to take. */
  async fit(limit: RequestLimit): Promise<void> {
    if (this.#trial !== null || this.#probe !== null) return;
    const fitting: Piece[] = [];
    for (const piece of this.#waiting)
      fitting.push(...(exceeds(piece, limit) ? await this.#fitted(piece, limit) : [piece]));
    this.#waiting = fitting;
  }

  /** Pieces within the limit, older points first; the piece itself if it cannot be cut. */
  async #fitted(piece: Piece, limit: RequestLimit): Promise<readonly Piece[]> {
    const { signal } = this.row;
    const slices = await this.#unpacked(piece);
    if (slices === null) return [piece];
    const pieces = groupsByTime(signal, slices)
      .flatMap(group => fitSlices(signal, group, limit))
      .map(some => pieceOf(signal, some));
    const isWhole = sumPoints(pieces) === piece.points;
    return isWhole && pieces.length > 1 ? pieces : [piece];
  }

  /** The back end accepted a piece except for `rejected` of its points. */
  async accept(rejected: number, piece: Piece): Promise<void> {
    const shares = shareOut(rejected, piece);
    for (const [i, { service, points }] of piece.slices.entries()) {
      const tally = this.#tally(service);
      tally.rejected += shares[i] ?? 0;
      tally.accepted += points - (shares[i] ?? 0);
    }
    if (this.#requestCount > 0) this.#requestCount++;
    this.#hasAccepted = true;
    this.#refusalsInRow = 0;
    if (rejected < piece.points) {
      const { points = 0, bytes = 0 } = this.#largest ?? {};
      this.#largest = {
        points: Math.max(points, piece.points),
        bytes: Math.max(bytes, piece.bytes),
      };
    }
    if (this.#probe?.piece === piece) {
      this.#replace(this.#probe.root, this.#probe.rest);
      this.#probe = null;
      this.#windowPoints = PROBE_POINTS;
    } else this.#take(piece);
    const trial = this.#trial;
    if (trial === null) {
      await this.#grow();
      return;
    }
    if (trial.levels === TRIAL_LEVELS) {
      this.#isContent = true;
      this.#status = trial.root.refused?.status ?? 0;
    }
    await this.#resolve(trial);
    this.#endAtLimit();
  }

  /**
   * The back end refused the content of a piece. False when the piece waits as it was: its trial has failed, or the
   * status is another one than the content had, as when a right is revoked meanwhile.
   */
  async refuse(piece: Piece, refused: Refused): Promise<boolean> {
    const isOther = this.#isContent && refused.status !== this.#status;
    if (isOther) return false;
    return (
      (await this.#seekSize(piece, refused)) ?? (await this.#refuse(this.#rootOf(piece), refused))
    );
  }

  /** The piece that a probe stands for; ends the probe. */
  #rootOf(piece: Piece): Piece {
    const root = this.#probe?.piece === piece ? this.#probe.root : piece;
    this.#probe = null;
    return root;
  }

  /** Looks for a size that is accepted. The result of refuse(); null when the refusal is not about size. */
  async #seekSize(piece: Piece, { status }: Refused): Promise<boolean | null> {
    if (this.#probe !== null) {
      // Its content may be refused as well, with another status than its size.
      if (this.#probe.status === status || this.#wasTooLarge) return null;
      return this.#wait(this.#rootOf(piece), status);
    }
    const isFirst = this.#trial === null && !this.#isContent && piece.refused === null;
    if (!isFirst || piece.triedFor === status) return null;
    if (this.#windowPoints === 0) return await this.#startProbe(piece, status);
    if (this.#largest === null || !exceeds(piece, this.#largest)) {
      // As large as one that was accepted.
      this.#windowPoints = 0;
      if (this.#wasTooLarge) return null;
      this.#isContent = true;
      this.#status = status;
      return null;
    }
    this.#maySizeMatter = true;
    const { points } = this.#largest;
    this.#windowPoints = points;
    const pieces = await this.#cutOff(piece, points < piece.points ? points : piece.points >> 1);
    if (pieces === null) return null;
    this.#replace(piece, pieces);
    return true;
  }

  async #startProbe(root: Piece, status: number): Promise<true | null> {
    if (root.points <= PROBE_POINTS || this.#hasAccepted) return null;
    const [piece, ...rest] = (await this.#cutOff(root, PROBE_POINTS)) ?? [];
    if (piece === undefined) return null;
    this.#probe = { root, status, piece, rest };
    return true;
  }

  /** After an accepted probe, the next piece has twice as many points, until one is refused. */
  async #grow(): Promise<void> {
    if (this.#windowPoints === 0) return;
    if (!this.#maySizeMatter) this.#windowPoints *= 2;
    const [first] = this.#waiting;
    if (first === undefined || first.points <= this.#windowPoints) return;
    this.#replace(first, (await this.#cutOff(first, this.#windowPoints)) ?? [first]);
  }

  /** A piece with the oldest points, at most so many and at least one, and pieces with the others; null if it cannot be cut. */
  async #cutOff(piece: Piece, points: number): Promise<readonly Piece[] | null> {
    const { signal } = this.row;
    const rest: Piece[] = [];
    if (points <= 0) return null;
    let first = piece;
    while (first.points > points) {
      const slices = await this.#unpacked(first);
      if (slices === null) return null;
      const time = timeToCutAt(timesIn(signal, slices));
      const cut = time === null ? cutSlices(signal, slices, points) : halveByTime(slices, time);
      const [older, newer] = [pieceOf(signal, cut[0]), pieceOf(signal, cut[1])];
      if (older.points === 0 || newer.points === 0) return null;
      rest.unshift(newer);
      first = older;
    }
    return rest.length === 0 ? null : [first, ...rest];
  }

  async #refuse(piece: Piece, refused: Refused): Promise<boolean> {
    if (piece.refused !== null) {
      this.#take(piece);
      this.#putAside(piece.slices, { ...piece.refused, atMs: refused.atMs });
      return true;
    }
    if (this.#trial === null && !this.#isContent && piece.triedFor === refused.status) return false;
    const root = this.#trial?.levels === TRIAL_LEVELS ? this.#trial.root.refused : null;
    if (root !== null && root.status !== refused.status) return this.#endTrial(refused.status);
    this.#requestCount++;
    this.#refusalsInRow++;
    this.#lastRefused = refused;
    piece.refused = refused;
    const isRest = this.#hasAccepted && piece.points === 1 && this.#trial === null;
    const levels = this.#wasTooLarge ? Infinity : TRIAL_LEVELS;
    if (!this.#isContent && !isRest) return await this.#try(piece, levels);
    this.#take(piece);
    await this.#splitOrDoubt(piece);
    this.#endAtLimit();
    return true;
  }

  /** The back end refused a piece because of its size. The same result as refuse(). */
  async cut(refusedPiece: Piece, refused: Refused): Promise<boolean> {
    this.#wasTooLarge = true;
    const sought = await this.#seekSize(refusedPiece, refused);
    if (sought !== null) return sought;
    const piece = this.#rootOf(refusedPiece);
    const isRest = this.#hasAccepted && piece.points === 1 && this.#trial === null;
    if (piece.refused === null && (this.#isContent || isRest))
      return await this.#refuse(piece, refused);
    if (piece.refused !== null) {
      const halves = await this.#halves(piece);
      if (halves === null) return await this.#refuse(piece, refused);
      this.#take(piece);
      this.#doubtful.push(...halves.map(half => ({ ...half, refused: piece.refused })));
      return true;
    }
    if (this.#trial === null && piece.triedFor === refused.status) return false;
    piece.refused = refused;
    return await this.#try(piece, Infinity);
  }

  /**
   * The back end refused a piece, accepted points of another row, and refused the piece again: content is the cause. It
   * is split further; a single point is set aside.
   */
  async prove(piece: Piece, refused: Refused): Promise<void> {
    if (this.#probe !== null) {
      const { root, rest } = this.#probe;
      this.#probe = null;
      this.#replace(root, [piece, ...rest]);
    }
    this.#windowPoints = 0;
    this.#isContent = true;
    this.#status = refused.status;
    this.#requestCount = 1;
    const slices = (await this.#unpacked(piece)) ?? piece.slices;
    const halves = await this.#halves(piece);
    if (this.#trial !== null) await this.#resolve(this.#trial);
    this.#take(piece);
    if (halves === null) this.#putAside(slices, refused);
    else this.#add(halves);
  }

  /** The counts of the row, and the points that were set aside, once it is done. */
  outcome(): { readonly settlements: readonly Settlement[]; readonly aside: readonly SetAside[] } {
    return { settlements: [...this.#tallies.values()], aside: this.#aside };
  }

  /** The next step of a trial, older points first; false when it has ended without an acceptance. */
  async #try(piece: Piece, levels: number): Promise<boolean> {
    const trial = (this.#trial ??= { root: piece, levels, waiting: [], refused: [] });
    trial.waiting = trial.waiting.filter(some => some !== piece);
    const halves = piece.level < trial.levels ? await this.#halves(piece) : null;
    if (halves === null) trial.refused.push(piece);
    else trial.waiting.unshift(...halves.map(half => ({ ...half, level: piece.level + 1 })));
    const isVain = trial.levels === Infinity && trial.refused.length >= TOO_LARGE_MAX;
    if (trial.waiting.length > 0 && !isVain) return true;
    return this.#endTrial(trial.root.refused?.status ?? 0);
  }

  /** Ends a trial with the result that content is the cause: its pieces take the place of the root. */
  async #resolve(trial: Trial): Promise<void> {
    this.#trial = null;
    this.#take(trial.root);
    this.#add(trial.waiting);
    for (const refused of trial.refused) await this.#splitOrDoubt(refused);
  }

  /** Ends a trial without an acceptance: the piece waits as it was. A new one needs another status. */
  #endTrial(status: number): false {
    const root = this.#trial?.root;
    this.#trial = null;
    this.#requestCount = 0;
    return root === undefined ? false : this.#wait(root, status);
  }

  #wait(root: Piece, status: number): false {
    Object.assign(root, { triedFor: status, refused: null });
    return false;
  }

  async #splitOrDoubt(piece: Piece): Promise<void> {
    const halves = await this.#halves(piece);
    const isPutOff = piece.isPutOff || this.#refusalsInRow > PATIENCE;
    if (halves === null) this.#doubtful.push(piece);
    else this.#add(halves.map(half => ({ ...half, isPutOff })));
  }

  #take(piece: Piece): void {
    const isOther = (some: Piece): boolean => some !== piece;
    if (this.#trial !== null) this.#trial.waiting = this.#trial.waiting.filter(isOther);
    this.#waiting = this.#waiting.filter(isOther);
    this.#doubtful = this.#doubtful.filter(isOther);
  }

  /** Puts pieces in the place of one that waits. */
  #replace(piece: Piece, pieces: readonly Piece[]): void {
    this.#waiting = this.#waiting.flatMap(some => (some === piece ? pieces : [some]));
  }

  #add(pieces: readonly Piece[]): void {
    // Stable: pieces of equal size keep their order.
    this.#waiting = [...this.#waiting, ...pieces].sort(byTurn);
  }

  /** Two pieces for one; null for a single point, and for a row that cannot be read. */
  async #halves(piece: Piece): Promise<readonly [Piece, Piece] | null> {
    if (piece.points < 2) return null;
    const { signal } = this.row;
    const slices = await this.#unpacked(piece);
    const halves = slices === null ? null : halve(signal, slices);
    if (halves === null) return null;
    return [pieceOf(signal, halves[0]), pieceOf(signal, halves[1])];
  }

  /** The slices of a piece with their bytes; null when the row cannot be read. */
  async #unpacked(piece: Piece): Promise<readonly Slice[] | null> {
    if (piece !== this.#whole) return piece.slices;
    const { encoding, body, rawBytes } = this.row;
    const raw = await decompress(encoding, body, rawBytes).catch(() => null);
    return raw === null ? null : slicesOf(this.row, raw);
  }

  /** Leaves one more request for each doubtful piece, and one for each piece that is not reached. */
  #endAtLimit(): void {
    const count = this.#requestCount + this.#doubtful.length + this.#waiting.length;
    // The next refusal would add two.
    if (!this.#isContent || this.#waiting.length === 0 || count + 2 <= REQUESTS_MAX) return;
    const last = { reason: '', atMs: 0, acceptances: 0, ...this.#lastRefused };
    const spent = `not sent alone, ${String(REQUESTS_MAX)} requests were spent: ${last.reason}`;
    for (const piece of this.#waiting)
      piece.refused = { ...last, status: this.#status, reason: spent };
    this.#doubtful.push(...this.#waiting);
    this.#waiting = [];
  }

  #putAside(slices: readonly Slice[], { reason, atMs }: Refused): void {
    const { signal } = this.row;
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

  /** The request for a piece: the row as it is stored, or the piece compressed. */
  async request(piece: Piece): Promise<SendRequest> {
    const { row } = this;
    if (piece === this.#whole) return row;
    return { signal: row.signal, ...(await packSlices(row.encoding, piece.slices)) };
  }
}

function pieceOf(
  signal: Signal,
  slices: readonly Slice[],
  bytes: number = slices.reduce((sum, slice) => sum + slice.bytes.length, 0),
): Piece {
  const times = timesIn(signal, slices);
  const fromNs = times.reduce((oldest, time) => Math.min(oldest, time), times[0] ?? 0);
  const state = { isPutOff: false, level: 0, isResend: false, triedFor: null, refused: null };
  return { slices, points: sumPoints(slices), bytes, fromNs, ...state };
}

function timesIn(signal: Signal, slices: readonly Slice[]): readonly number[] {
  return signal === 'metrics' ? slices.flatMap(({ bytes }) => timesOf(bytes)) : [];
}

/** Among pieces of one time the largest goes first, so that little is left when the requests are spent. */
function byTurn(a: Piece, b: Piece): number {
  if (a.isPutOff !== b.isPutOff) return a.isPutOff ? 1 : -1;
  const byTime = a.isPutOff ? 0 : a.fromNs - b.fromNs;
  return byTime === 0 ? b.points - a.points : byTime;
}

function slicesOf(row: QueueRow, raw: Buffer): readonly Slice[] {
  return row.parts.map(({ service, points, offset, length }) => {
    return { service, points, bytes: raw.subarray(offset, offset + length) };
  });
}

type Halves = readonly [readonly Slice[], readonly Slice[]];

/** Splits by time, else between services, else within the only service; null for a single point. */
function halve(signal: Signal, slices: readonly Slice[]): Halves | null {
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

/** The first points in order, and the others. */
function cutSlices(signal: Signal, slices: readonly Slice[], points: number): Halves {
  const [first, second]: [Slice[], Slice[]] = [[], []];
  let room = points;
  for (const slice of slices) {
    if (slice.points <= room) first.push(slice);
    else if (room <= 0) second.push(slice);
    else {
      const [head, tail] = shareSlice(signal, slice, cutAfter(signal, slice.bytes, room));
      first.push(head);
      if (tail.bytes.length > 0) second.push(tail);
    }
    room -= slice.points;
  }
  return [first, second];
}

/** Slices with points of one time each, older points first. */
function groupsByTime(signal: Signal, slices: readonly Slice[]): readonly (readonly Slice[])[] {
  const time = timeToCutAt(timesIn(signal, slices));
  if (time === null) return [slices];
  return halveByTime(slices, time).flatMap(half => groupsByTime(signal, half));
}

function exceeds({ points, bytes }: Piece, limit: RequestLimit): boolean {
  return points > limit.points || bytes > limit.bytes;
}

function halveByTime(slices: readonly Slice[], time: number): Halves {
  const pairs = slices.map(slice => shareSlice('metrics', slice, cutAt(slice.bytes, time)));
  const hasBytes = ({ bytes }: Slice): boolean => bytes.length > 0;
  return [
    pairs.map(([older]) => older).filter(hasBytes),
    pairs.map(([, newer]) => newer).filter(hasBytes),
  ];
}

/** The halves share the number of points in the row's index, which the account counts, whatever the bytes contain. */
function shareSlice(
  signal: Signal,
  { service, points }: Slice,
  [first, second]: readonly [Buffer, Buffer],
): readonly [Slice, Slice] {
  const inFirst = second.length === 0 ? points : Math.min(countPoints(signal, first), points);
  return [
    { service, points: inFirst, bytes: first },
    { service, points: points - inFirst, bytes: second },
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
