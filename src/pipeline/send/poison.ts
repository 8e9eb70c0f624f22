// Finds the points that make the back end fail, called poison, in a row that it refuses for more than a minute without
// a reason (500). A row without poison loses nothing. In: the rows of one lane, of which the oldest was just refused.
// Out: pieces that are settled or set aside; the rest waits for the next round, a minute later. One round, in order:
//
//   1. open     each suspect is sent, twice in a row                         accepted ─▶ settled, it was no poison
//   2. search   the oldest row with other pieces is cut and sent,            accepted ─▶ settled
//               older points first                                           refused  ─▶ cut again; a piece that cannot
//                                                                                        be cut becomes a suspect
//   3. pass     if only suspects are left, later rows are sent, up to the    the same as 2
//               first of which something is refused
//   4. close    once 2 or 3 get a piece accepted, each suspect is            refused  ─▶ the round counts against it;
//               sent once more                                                           after ROUNDS it is set aside
//
// So a piece is set aside only after ROUNDS rounds, in each of which it was refused twice before and once after the
// back end accepted other content. A back end that answers 500 at random, or to every second request, costs no points.
//
// Order. Pieces of one time may be sent in any order. Otherwise a piece passes an older piece, of its own or an earlier
// row, only if the older one cannot be split and was refused before it in this round; never during a flush. If the back
// end accepts nothing of a row, the row stays whole and held, and nothing passes it: the back end may simply be broken.
// After VAIN_ROUNDS such rounds the row counts as one piece that cannot be split, or it would block others for days.

import { type Delivery, type Piece, REQUESTS_MAX } from './delivery.ts';
import type { SendResult } from './transport.ts';

/** A piece is set aside after this many rounds count against it. */
export const ROUNDS = 5;
/** After this many rounds without an acceptance a later row may pass this one. */
const VAIN_ROUNDS = 5;
/** With this many rows of suspects in the lane, no further row passes them. */
const SUSPECT_ROWS_MAX = 64;
/** At most this many rows pass in a round: they stay in memory until its end, and the suspects' last answer gets old. */
const PASSED_ROWS_MAX = 8;

/** The parts of the sender that a round uses. */
export interface RoundPort {
  /** Sends a piece once; null when its row has left the queue. */
  send(delivery: Delivery, piece: Piece): Promise<SendResult | null>;
  /** Settles a piece if the answer decides about it; false when it does not. */
  decide(delivery: Delivery, piece: Piece, result: SendResult): Promise<boolean>;
  giveUp(delivery: Delivery, piece: Piece, reason: string): Promise<void>;
  /** Adds a later row to the end of the lane; null when there is none. */
  takeLater(): Promise<Delivery | null>;
  /** False during a flush: no row passes another. */
  mayPass(): boolean;
  isClosing(): boolean;
}

/** The result of sending a piece: `stopped` ends the round. */
type Sent = 'decided' | 'refused' | 'stopped';

export class Round {
  readonly #lane: readonly Delivery[];
  readonly #port: RoundPort;
  /** The last piece sent, if it was refused: it need not be sent again at once. */
  #refusedLast: Piece | null;
  /** The suspects that were refused in step 1. */
  #suspects: (readonly [Delivery, Piece])[] = [];
  #hasClosed = false;
  #requestCount = 0;
  /** True when the back end accepted content in this round, or in another lane since the last round. */
  #isProven = false;
  #lastReason = '';
  /** The number of pieces that were accepted in this round. */
  acceptedCount = 0;
  /** The answer that ended the round early: a retry, or a refusal of our settings. */
  stop: SendResult | null = null;

  /** `lane` grows when a later row passes. `refused`: the oldest piece, which was just refused. */
  constructor(lane: readonly Delivery[], refused: Piece, port: RoundPort) {
    this.#lane = lane;
    this.#refusedLast = refused;
    this.#port = port;
  }

  /** `wereOthersAccepted`: the back end accepted content of other lanes since the last round. */
  async run(wereOthersAccepted: boolean): Promise<void> {
    this.#isProven = wereOthersAccepted;
    const last = await this.#goThrough();
    if (wereOthersAccepted && !(await this.#close())) return;
    if (last === null || this.acceptedCount === 0) return;
    // The back end accepts content: it is worth searching the older rows again.
    for (const delivery of this.#lane.slice(0, this.#lane.indexOf(last)))
      if (isOpen(delivery) && !(await this.#search(delivery))) return;
  }

  /**
   * Searches row after row until the back end accepts something. Returns that row; null when the round must end first.
   */
  async #goThrough(): Promise<Delivery | null> {
    for (const delivery of this.#lane) {
      if (!(await this.#open(delivery))) return null;
      if (isOpen(delivery)) {
        // A later row that counts as one piece is not cut again: the rows after it get the requests.
        const isSearched = delivery === this.#lane[0] || delivery.vainRounds < VAIN_ROUNDS;
        if (isSearched && !(await this.#search(delivery))) return null;
        // A later row may have been refused only briefly.
        const isRefused = isOpen(delivery) || delivery !== this.#lane[0];
        if (this.acceptedCount === 0 && isRefused && !(await this.#mayBePassed(delivery)))
          return null;
      }
      if (this.acceptedCount > 0) return delivery;
    }
    return this.#lane.length < SUSPECT_ROWS_MAX ? this.#passRows() : null;
  }

  /**
   * Sends later rows past the rest of the lane, which was refused directly before: up to the first row of which something
   * is refused, because nothing may pass that before the next round. If the rest is more than suspects, only one row
   * passes before it is searched again. Returns the last row.
   */
  async #passRows(): Promise<Delivery | null> {
    let last: Delivery | null = null;
    for (let count = 0; count < PASSED_ROWS_MAX; count++) {
      const later = this.#port.mayPass() ? await this.#port.takeLater() : null;
      if (later === null) break;
      if (!(await this.#search(later))) return null;
      last = later;
      if (later.pieces().length > 0 || this.#lane.some(isOpen)) break;
    }
    return last;
  }

  /** True when a row counts as one piece, and all its pieces that are no suspects were refused once more. */
  async #mayBePassed(delivery: Delivery): Promise<boolean> {
    if (delivery.vainRounds < VAIN_ROUNDS || !this.#port.mayPass()) return false;
    for (const piece of delivery.pieces().filter(({ suspicion }) => suspicion === null))
      if ((await this.#send(delivery, piece)) !== 'refused') return false;
    return true;
  }

  /** Sends the suspects of a row, each twice in a row; false when the round has ended. */
  async #open(delivery: Delivery): Promise<boolean> {
    for (const piece of delivery.pieces().filter(({ suspicion }) => suspicion !== null)) {
      const isFirst = delivery === this.#lane[0] && this.#suspects.length === 0;
      if (!isFirst && !this.#port.mayPass()) return false;
      const first = piece === this.#refusedLast ? 'refused' : await this.#send(delivery, piece);
      const second = first === 'refused' ? await this.#send(delivery, piece) : first;
      if (second === 'stopped') return false;
      if (second === 'refused') this.#suspects.push([delivery, piece]);
    }
    return this.acceptedCount === 0 || (await this.#close());
  }

  /** Sends the pieces of a row that are no suspects; false when the round has ended. */
  async #search(delivery: Delivery): Promise<boolean> {
    const restore = delivery.mark();
    const refused = new Set<Piece>();
    const endCount = this.#requestCount + REQUESTS_MAX;
    let wasProven = this.#isProven;
    while (this.#requestCount < endCount && !this.#isOver) {
      // Sending it would pass the suspects of an earlier row.
      if (delivery !== this.#lane[0] && !this.#port.mayPass()) break;
      const piece = delivery.pieces().find(some => some.suspicion === null && !refused.has(some));
      if (piece !== undefined && (await this.#mayFollow(delivery, piece, refused))) {
        const isKnown = piece === this.#refusedLast;
        const sent = isKnown ? 'refused' : await this.#send(delivery, piece);
        if (sent === 'refused') await this.#lookInto(delivery, piece, refused);
      } else if (this.#isOver || !this.#mayCut(delivery)) break;
      else if (!(await this.#cutOldest(delivery, refused))) break;
      if (!wasProven && this.#isProven) {
        wasProven = true;
        await this.#close();
        // The back end accepts content: it is worth splitting the other refused pieces.
        for (const some of refused) if (!some.isUncut) refused.delete(some);
      }
    }
    this.#conclude(delivery, refused, restore);
    return !this.#isOver;
  }

  /**
   * Whether a row may be cut. Before the back end has accepted anything, any piece of a later row may be accepted first,
   * and so pass older rows. Unless the older rows have only suspects, the later row is therefore sent whole, until its
   * last round before it counts as one piece.
   */
  #mayCut(delivery: Delivery): boolean {
    if (this.#isProven || delivery.vainRounds === VAIN_ROUNDS - 1) return true;
    return !this.#lane.slice(0, this.#lane.indexOf(delivery)).some(isOpen);
  }

  /** Splits the oldest refused piece, because all were refused. */
  async #cutOldest(delivery: Delivery, refused: Set<Piece>): Promise<boolean> {
    for (const piece of delivery.pieces()) {
      if (!refused.has(piece) || piece.isUncut) continue;
      if (await delivery.cut(piece)) return refused.delete(piece);
    }
    return false;
  }

  /** Splits a refused piece. Until something is accepted, only on the way down to the oldest point. */
  async #lookInto(delivery: Delivery, piece: Piece, refused: Set<Piece>): Promise<void> {
    const isWayDown = piece === delivery.pieces()[0];
    const mayCut = this.#isProven || (isWayDown && this.#mayCut(delivery));
    if (!mayCut || !(await delivery.cut(piece))) refused.add(piece);
  }

  /** True when a piece may be sent now: all older ones were refused directly before. */
  async #mayFollow(delivery: Delivery, piece: Piece, refused: Set<Piece>): Promise<boolean> {
    const older = delivery
      .pieces()
      .filter(some => some.fromNs < piece.toNs && (refused.has(some) || some.suspicion !== null));
    if (older.length === 0) return true;
    if (!this.#port.mayPass() || older.some(({ isUncut }) => !isUncut)) return false;
    // A row that was taken in this round was refused only briefly.
    const isNew = delivery !== this.#lane[0] && delivery.vainRounds === 0;
    if (isNew && older.some(({ suspicion }) => suspicion === null)) return false;
    for (const some of older) {
      const sent = await this.#send(delivery, some);
      if (sent === 'stopped') return false;
      if (sent === 'decided') refused.delete(some);
    }
    return true;
  }

  /** Sends the suspects once more, after the back end accepted other content. */
  async #close(): Promise<boolean> {
    if (this.#hasClosed) return true;
    this.#hasClosed = true;
    for (const [delivery, piece] of this.#suspects) {
      if (piece.suspicion === null || !delivery.pieces().includes(piece)) continue;
      const sent = await this.#send(delivery, piece);
      if (sent === 'stopped') return false;
      if (sent === 'refused' && ++piece.suspicion >= ROUNDS) {
        const words = `refused in ${String(ROUNDS)} rounds while other points were accepted: `;
        await this.#port.giveUp(delivery, piece, words + this.#lastReason);
      }
    }
    return true;
  }

  get #isOver(): boolean {
    return this.stop !== null || this.#port.isClosing();
  }

  #conclude(delivery: Delivery, refused: ReadonlySet<Piece>, restore: () => void): void {
    if (this.#isProven) {
      delivery.vainRounds = 0;
      for (const piece of refused) if (piece.isUncut) piece.suspicion ??= 0;
      return;
    }
    restore();
    if (this.#isOver) return;
    delivery.vainRounds++;
    // No other content was accepted before: the first round does not count.
    if (delivery.pieces().every(({ isUncut }) => isUncut))
      for (const piece of delivery.pieces()) piece.suspicion ??= -1;
  }

  async #send(delivery: Delivery, piece: Piece): Promise<Sent> {
    this.#refusedLast = null;
    if (this.#port.isClosing()) return 'stopped';
    this.#requestCount++;
    const result = await this.#port.send(delivery, piece);
    if (result === null) return 'decided';
    if (result.kind === 'accepted') {
      this.acceptedCount++;
      this.#isProven = true;
    }
    if (await this.#port.decide(delivery, piece, result)) return 'decided';
    if (result.kind !== 'accepted') this.#lastReason = result.reason;
    this.#refusedLast = piece;
    if (result.kind === 'hold' && result.mayBeContent) return 'refused';
    this.stop = result;
    return 'stopped';
  }
}

/** True when a row has pieces that are no suspects. */
function isOpen(delivery: Delivery): boolean {
  return delivery.pieces().some(({ suspicion }) => suspicion === null);
}
