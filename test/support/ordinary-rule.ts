// The rules of restarts (docs/how-it-works/mapping.md F5 to F7), applied to one counter by hand: no table, no columns, no
// repeated pages, nothing shared between series. test/fuzz/ordinary-life.test.ts compares every sample with it. Times in
// ms, uptimes in seconds.

/** What the rules make of a sample; null for one that is not judged: a repeat, or one that waits for the next page. */
export interface Verdict {
  /** Growth since the previous sample that was judged. */
  readonly growth: number;
  /** Whether the counter has a new start. */
  readonly hasBegun: boolean;
}

interface Reading {
  readonly seconds: number;
  /** When a page first showed these seconds. */
  readonly sinceMs: number;
}

const CLOCKS_MS = 10_000;
const CACHED_MS = 60_000;
const CACHED_READINGS = 20;

export class OrdinaryRule {
  readonly #intervalMs: number;
  readonly #isDelta: boolean;
  #timeMs = Number.NaN;
  #value = Number.NaN;
  /** The uptime of the previous sample. */
  #reading: Reading | null = null;
  #hasUptime = false;
  #missed = 0;
  #cached = 0;
  #fall: readonly [fromMs: number, toMs: number] = [Number.NaN, Number.NaN];

  constructor(intervalMs: number, isDelta: boolean) {
    this.#intervalMs = intervalMs;
    this.#isDelta = isDelta;
  }

  /** Judges a sample; `uptime` is null where its page lacks the uptime. */
  judge(timeMs: number, value: number, uptime: number | null): Verdict | null {
    const isFirst = Number.isNaN(this.#timeMs);
    if (!isFirst && timeMs <= this.#timeMs) {
      const isStanding = timeMs === this.#timeMs && uptime === this.#reading?.seconds;
      if (isStanding) this.#cached = CACHED_READINGS;
      return null;
    }
    const mayCome = uptime === null && this.#hasUptime && ++this.#missed <= this.#missedMax();
    if (mayCome && (this.#isDelta || value < this.#value)) return null;
    const goesOn: Verdict = { growth: value - this.#value, hasBegun: false };
    const verdict = isFirst
      ? { growth: 0, hasBegun: false }
      : mayCome
        ? goesOn
        : this.#compare(timeMs, value, uptime);
    this.#timeMs = timeMs;
    this.#value = value;
    if (!mayCome) this.#note(timeMs, uptime);
    return verdict;
  }

  #missedMax(): number {
    return Math.max(3, Math.ceil(CACHED_MS / this.#intervalMs) + 1);
  }

  #compare(timeMs: number, value: number, uptime: number | null): Verdict {
    const tolMs = Math.max(CLOCKS_MS, this.#intervalMs / 4);
    const hasFallen = value < this.#value;
    const goesOn: Verdict = { growth: value - this.#value, hasBegun: false };
    if (uptime !== null && this.#reading !== null) {
      const isCached = this.#cached > 0;
      const grewMs = (uptime - this.#reading.seconds) * 1000;
      const passedMs = timeMs - this.#reading.sinceMs;
      const isSlow = !isCached && grewMs > 0 && grewMs < passedMs - tolMs;
      const isYounger = grewMs < 0 || isSlow;
      const aheadMs = isCached ? 2 * this.#intervalMs + CLOCKS_MS : tolMs;
      const beganMs = timeMs - uptime * 1000;
      const [fromMs, toMs] = this.#fall;
      if (isYounger && !hasFallen && beganMs >= fromMs - tolMs && beganMs <= toMs + tolMs)
        return goesOn;
      if (isYounger && beganMs >= this.#timeMs - tolMs) return { growth: value, hasBegun: true };
      if (isYounger || grewMs > passedMs + aheadMs) return { growth: 0, hasBegun: true };
    }
    if (!hasFallen) return goesOn;
    this.#fall = [this.#timeMs, timeMs];
    return { growth: value, hasBegun: true };
  }

  #note(timeMs: number, uptime: number | null): void {
    if (uptime === null) {
      this.#reading = null;
      return;
    }
    this.#hasUptime = true;
    this.#missed = 0;
    const isStanding = uptime === this.#reading?.seconds;
    this.#cached = isStanding ? CACHED_READINGS : Math.max(0, this.#cached - 1);
    if (!isStanding) this.#reading = { seconds: uptime, sinceMs: timeMs };
  }
}
