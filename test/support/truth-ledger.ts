// The ledger compares what really happened on database servers behind one set of labels with what the pages show of it
// and with what readers of OTLP claim. In: statements as a client counted them, the pages that were served, the points
// that arrived. Out: how much each reader claimed, how much of that never happened, and how much the reader missed.
//
// Claims are compared interval by interval, so a loss in one place does not hide a false claim in another. Uses no IO and
// no clock; all times are milliseconds that the caller gives.

/** The counted events: statements that only the test issues, and refused logins, which FLUSH STATUS sets to zero. */
export type Kind = 'statements' | 'refusals';
export const KINDS: readonly Kind[] = ['statements', 'refusals'];

interface Count {
  readonly askedAtMs: number[];
  readonly doneAtMs: number[];
  /** How many were done at the last flush. */
  atFlush: number;
}

/** One server process from its start to its end. */
export interface Life {
  readonly id: number;
  readonly counts: Readonly<Record<Kind, Count>>;
}

/** A time in which one process answered under the labels. */
interface Tenure {
  readonly life: Life;
  readonly fromMs: number;
  toMs: number;
}

export class Ledger {
  readonly lives: Life[] = [];
  readonly tenures: Tenure[] = [];

  begin(): Life {
    const count = (): Count => ({ askedAtMs: [], doneAtMs: [], atFlush: 0 });
    const life = { id: this.lives.length, counts: { statements: count(), refusals: count() } };
    this.lives.push(life);
    return life;
  }

  asked(life: Life, kind: Kind, atMs: number): void {
    life.counts[kind].askedAtMs.push(atMs);
  }

  /** Called only after the server has acknowledged the statement. */
  done(life: Life, kind: Kind, atMs: number): void {
    life.counts[kind].doneAtMs.push(atMs);
  }

  /** Called after FLUSH STATUS; nothing may be asked meanwhile. */
  flushed(life: Life): void {
    const { refusals } = life.counts;
    refusals.atFlush = refusals.doneAtMs.length;
  }

  /** From now on this process answers under the labels; with null, none does. */
  stand(life: Life | null, atMs: number): void {
    const last = this.tenures.at(-1);
    if (last?.toMs === Number.POSITIVE_INFINITY) last.toMs = atMs;
    if (life !== null) this.tenures.push({ life, fromMs: atMs, toMs: Number.POSITIVE_INFINITY });
  }
}

/** A page with counters, as it was served to one scraper. */
export interface Reading {
  /** The page's stamp. */
  readonly atMs: number;
  /** The time of the request for the page, a little after the time of points without a stamp. */
  readonly askedForMs: number;
  readonly fetchedFromMs: number;
  readonly fetchedToMs: number;
  readonly life: Life;
  /** The values on the page. */
  readonly values: Readonly<Record<Kind, number>>;
  /** The process's counts since it began: the value plus the counts that flushes removed. */
  readonly positions: Readonly<Record<Kind, number>>;
  /** The act of the test at that time, such as a restart. */
  readonly scene: string;
}

/** True when the server's own counter agrees with the ledger, apart from statements under way during the fetch. */
export function agrees({ life, positions, ...reading }: Reading, kind: Kind): boolean {
  const { askedAtMs, doneAtMs } = life.counts[kind];
  return (
    countBefore(doneAtMs, reading.fetchedFromMs) <= positions[kind] &&
    positions[kind] <= countBefore(askedAtMs, reading.fetchedToMs)
  );
}

function countBefore(times: readonly number[], atMs: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The amount that the later of two pages shows to have happened since the earlier page. If another process answers, this
 * is what that process counted since the earlier page, and nothing that it had counted before. After a flush, it is the
 * amount counted since the flush.
 */
function visibleBetween(from: Reading, to: Reading, kind: Kind): number {
  return Math.min(to.values[kind], countedBetween(from, to, kind));
}

/** The amount that the process of the later page counted since the earlier page. */
function countedBetween(from: Reading, to: Reading, kind: Kind): number {
  const isSame = from.life === to.life;
  const { doneAtMs } = to.life.counts[kind];
  return (
    to.positions[kind] - (isSame ? from.positions[kind] : countBefore(doneAtMs, from.fetchedFromMs))
  );
}

/** The amount between two pages that no page can show: before a flush, or in a process that no longer answers. */
function unseenBetween(
  ledger: Ledger,
  [from, to]: readonly [Reading, Reading],
  kind: Kind,
): number {
  let unseen = countedBetween(from, to, kind) - visibleBetween(from, to, kind);
  if (from.life === to.life) return unseen;
  for (const { life, fromMs, toMs } of ledger.tenures) {
    if (life === to.life || toMs < from.fetchedFromMs || fromMs > to.fetchedToMs) continue;
    const { doneAtMs } = life.counts[kind];
    const known = life === from.life ? from.positions[kind] : countBefore(doneAtMs, fromMs);
    unseen += Math.max(0, countBefore(doneAtMs, toMs) - known);
  }
  return unseen;
}

/** A number point as it arrived. `startMs` is NaN where there is none. */
export interface Point {
  readonly startMs: number;
  readonly timeMs: number;
  readonly value: number;
}

/** A reader's claim that `amount` happened after `fromMs` and not after `toMs`. */
export interface Claim {
  readonly fromMs: number;
  readonly toMs: number;
  readonly amount: number;
}

export interface Read {
  readonly claims: readonly Claim[];
  /** The faults of invalid points, in words. */
  readonly faults: readonly string[];
}

/**
 * Reads cumulative points by start and value, as the data model does: while the start stays, the value's growth; at a new
 * start, the whole value; and nothing if a new start is the point's own time (an unknown start).
 */
export function readByStarts(points: readonly Point[]): Read {
  const claims: Claim[] = [];
  const faults: string[] = [];
  let before: Point | null = null;
  for (const point of points) {
    const { startMs, timeMs, value } = point;
    const isKnown = startMs < timeMs;
    const fromMs = before?.timeMs ?? startMs;
    let amount = isKnown ? value : 0;
    if (startMs > timeMs) faults.push(`the start ${startMs} is later than its point ${timeMs}`);
    if (before !== null && startMs < before.startMs) {
      faults.push(`the start went back from ${before.startMs} to ${startMs} at ${timeMs}`);
    }
    if (before !== null && timeMs <= before.timeMs) {
      faults.push(`the time went from ${before.timeMs} to ${timeMs}`);
    }
    if (before !== null && startMs === before.startMs) {
      amount = value - before.value;
      if (amount < 0) {
        faults.push(`the value fell from ${before.value} to ${value} under one start at ${timeMs}`);
        // A reader that also looks at the value takes this as a reset.
        amount = value;
      }
    } else if (before !== null && startMs < before.timeMs) {
      faults.push(`the stream from ${startMs} overlaps the one until ${before.timeMs}`);
    }
    claims.push({ fromMs, toMs: timeMs, amount });
    before = point;
  }
  return { claims, faults };
}

/** Reads cumulative points by value alone, as PromQL's `increase` does without its extrapolation. */
export function readByValues(points: readonly Point[]): Read {
  const claims = points.slice(1).map((point, index) => {
    const before = points[index] ?? point;
    const hasFallen = point.value < before.value;
    const amount = hasFallen ? point.value : point.value - before.value;
    return { fromMs: before.timeMs, toMs: point.timeMs, amount };
  });
  return { claims, faults: [] };
}

/** Reads delta points: each claims its value. */
export function readDeltas(points: readonly Point[]): Read {
  const faults: string[] = [];
  let endMs = Number.NEGATIVE_INFINITY;
  for (const { startMs, timeMs, value } of points) {
    if (startMs < endMs) faults.push(`the delta from ${startMs} overlaps the one until ${endMs}`);
    if (!(startMs < timeMs)) faults.push(`the delta at ${timeMs} begins at ${startMs}`);
    if (!(value >= 0)) faults.push(`the delta at ${timeMs} is ${value}`);
    endMs = timeMs;
  }
  const claims = points.map(({ startMs, timeMs, value }) => ({
    fromMs: startMs,
    toMs: timeMs,
    amount: value,
  }));
  return { claims, faults };
}

/** A claim of more than the pages can show. */
export interface FalseClaim extends Claim {
  readonly excess: number;
  readonly scene: string;
}

export interface Verdict {
  /** The amount that happened from the first page to the last page with a claim. */
  readonly happened: number;
  /** The part of it that no page shows: after the last page before a flush, or before a process no longer answered. */
  readonly unseen: number;
  /** The part of it that the reader claimed. */
  readonly claimed: number;
  /** The amount that the reader claimed, but that did not happen. */
  readonly over: number;
  /** The amount that pages show, but that the reader did not count. */
  readonly missed: number;
  /** `missed` by scene. */
  readonly missedIn: ReadonlyMap<string, number>;
  readonly falseClaims: readonly FalseClaim[];
  readonly faults: readonly string[];
}

/** Compares a reader's claims about a series with its pages and the ledger. */
export function judge(
  ledger: Ledger,
  readings: readonly Reading[],
  { claims, faults }: Read,
  kind: Kind,
): Verdict {
  const lastMs = claims.at(-1)?.toMs ?? Number.NEGATIVE_INFINITY;
  const told = readings.filter(({ atMs }) => atMs <= lastMs);
  let [visible, unseen, claimed, over] = [0, 0, 0, 0];
  const missedIn = new Map<string, number>();
  const miss = (scene: string, count: number): void => {
    missedIn.set(scene, (missedIn.get(scene) ?? 0) + count);
  };
  for (const [index, to] of told.slice(1).entries()) {
    const from = told[index] ?? to;
    const shown = visibleBetween(from, to, kind);
    visible += shown;
    miss(to.scene, shown);
    unseen += unseenBetween(ledger, [from, to], kind);
  }
  const falseClaims: FalseClaim[] = [];
  for (const claim of claims) {
    const to = readings.find(({ atMs }) => atMs === claim.toMs);
    if (to === undefined) throw new Error(`there was no page at ${claim.toMs}, but a point`);
    const from = readings.findLast(({ atMs }) => atMs <= claim.fromMs);
    const most = from === undefined ? to.positions[kind] : visibleBetween(from, to, kind);
    const excess = Math.max(0, claim.amount - most);
    // The counts on the first page happened before the account begins.
    if (from !== undefined) {
      claimed += claim.amount - excess;
      miss(to.scene, excess - claim.amount);
    }
    over += excess;
    if (excess > 0) falseClaims.push({ ...claim, excess, scene: to.scene });
  }
  return {
    happened: visible + unseen,
    unseen,
    claimed,
    over,
    missed: visible - claimed,
    missedIn,
    falseClaims,
    faults,
  };
}
