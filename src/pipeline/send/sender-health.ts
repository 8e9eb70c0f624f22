// The latest answers of a back end, for the status page and for the message that it accepts again.

import type { Clock } from '../../lib/clock.ts';
import { isAcceptance, type SendResult } from './transport.ts';

/** A lane is retrying while the back end is unreachable or busy, and holding while it refuses requests. */
export type LaneState = 'idle' | 'sending' | 'retrying' | 'holding';

/** What a request holds at most, as the refusals of the back end have taught. Null: nothing is known. */
export interface Learned {
  /** Uncompressed. */
  readonly bytes: number | null;
  readonly points: number | null;
}

/** In words: the keys that would set a learned limit. */
export function keysFor({ bytes, points }: Learned): string {
  const keys = [
    ...(points === null ? [] : [`otlp.max_points: ${String(points)}`]),
    ...(bytes === null ? [] : [`otlp.max_request: ${String(Math.ceil(bytes / 1024))}KiB`]),
  ];
  return `set ${keys.join(' or ')}`;
}

/** Times are wall clock, in milliseconds. */
export interface SenderStatus {
  readonly state: LaneState;
  /** The last failure as text; it remains after the back end has recovered. */
  readonly lastError: string | null;
  readonly lastErrorAtMs: number | null;
  readonly lastAcceptedAtMs: number | null;
  /** Since when nothing is accepted; null after an acceptance. */
  readonly failingSinceAtMs: number | null;
  /** Null when no attempt is scheduled. */
  readonly nextAttemptAtMs: number | null;
  /** Null while the back end has refused no request for its size. */
  readonly learned: Learned | null;
}

export class SenderHealth {
  readonly #clock: Clock;
  readonly #latest = {
    lastError: null as string | null,
    lastErrorAtMs: null as number | null,
    lastAcceptedAtMs: null as number | null,
    failingSinceAtMs: null as number | null,
  };
  /** Monotonic. */
  #downSinceMs: number | null = null;
  /** The last answer with a success rejected every point. */
  #rejectsAll = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Notes the result of a request with that many points. Returns the length of the outage that it ends, in
   * milliseconds, else null.
   */
  note(result: SendResult, points: number): number | null {
    const clock = this.#clock;
    if (!isAcceptance(result, points)) {
      this.#rejectsAll = result.kind === 'accepted';
      this.#latest.lastError =
        result.kind === 'accepted'
          ? `the back end rejected all ${points} points: ${result.message || 'without a reason'}`
          : result.reason;
      this.#latest.lastErrorAtMs = clock.nowMs();
      this.#latest.failingSinceAtMs ??= this.#latest.lastErrorAtMs;
      const isDown = result.kind !== 'refused' && result.kind !== 'too_large';
      if (isDown) this.#downSinceMs ??= clock.monotonicMs();
      return null;
    }
    const downMs = this.#downSinceMs === null ? null : clock.monotonicMs() - this.#downSinceMs;
    this.#downSinceMs = null;
    this.#rejectsAll = false;
    this.#latest.lastAcceptedAtMs = clock.nowMs();
    this.#latest.failingSinceAtMs = null;
    return downMs;
  }

  /** The state is the worst of all lanes. */
  status(
    lanes: readonly { readonly state: LaneState; readonly nextAttemptAtMs: number | null }[],
    learned: Learned | null,
  ): SenderStatus {
    const worst = (['holding', 'retrying', 'sending'] as const).find(some =>
      lanes.some(lane => lane.state === some),
    );
    const timesMs = lanes.map(lane => lane.nextAttemptAtMs).filter(timeMs => timeMs !== null);
    return {
      state: this.#rejectsAll ? 'holding' : (worst ?? 'idle'),
      ...this.#latest,
      nextAttemptAtMs: timesMs.length === 0 ? null : Math.min(...timesMs),
      learned,
    };
  }
}
