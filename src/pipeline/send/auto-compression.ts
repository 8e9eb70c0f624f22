// `otlp.compression: auto`: zstd if the back end has proved that it accepts it, else gzip. In: the result of each request
// and its encoding. Out: the encoding of the next request. The decision is kept across restarts.
//
//   state    encoding      transitions
//   gzip     gzip          gzip content gets an answer that would prove zstd ─▶ trial with the next request with content
//   trial    zstd, once    proof ─▶ zstd. Otherwise the same request is sent as gzip at once: accepted ─▶ off, else ─▶ gzip
//   zstd     zstd          after a refusal that may be about the encoding, or after more than ten failures in a row, the
//                          same request is sent as gzip at once: accepted ─▶ off; refused alike, all are gzip until one
//                          is accepted
//   off      gzip          a day has passed ─▶ gzip; the second `off` after `zstd` lasts until the restart
//
// Proof is a 200 whose body is an export response without rejections. A back end that does not answer gzip like that gets
// no trial: it would receive points twice. Empty and tiny requests prove nothing, and are sent as gzip. When an answer
// asks for a pause (429, or a refusal with Retry-After), nothing more is sent. So a trial loses no points, and an outage
// costs at most one extra request per attempt. A gateway that acknowledges before it decodes goes unnoticed; for such a
// gateway set `otlp.compression: gzip`.

import { type Clock, DAY_MS } from '../../lib/clock.ts';
import type { Counters, CountersOf } from '../../lib/counters.ts';
import { membersOf, parseJson } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import type { Signal } from '../../model/batch.ts';
import type { Queue } from '../queue/queue.ts';
import type { SendResult } from './transport.ts';

/** The result of one request, as far as its encoding may matter. */
export interface Exchange {
  readonly result: SendResult;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** A 200 with an export response without rejections. */
  readonly isProof: boolean;
  /** The back end asks for a pause. */
  readonly isPauseAsked: boolean;
}

/** The encoding of requests, and why; times are wall clock. */
export interface CompressionStatus {
  readonly encoding: 'gzip' | 'zstd';
  /** Null: since the start. */
  readonly sinceMs: number | null;
  /** When zstd may be tried again; null when no time is set. */
  readonly untilMs: number | null;
  readonly reason: string;
}

export interface AutoCompressionOptions {
  readonly signal: Signal;
  /** Its URL without user, password and query. */
  readonly endpoint: string;
  readonly protocol: string;
  /** Keeps the decisions, and compresses new rows accordingly. */
  readonly queue: Pick<Queue, 'readState' | 'commit' | 'compressAs'>;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
}

/** Smaller requests prove nothing: some back ends answer them without reading them. */
export const CONTENT_BYTES_MIN = 512;
/** How long zstd is not tried again after a refusal. */
export const OFF_MS: number = DAY_MS;
/** After this many refusals of proven zstd it is not tried again until the restart. */
const FLIPS_MAX = 2;
/**
 * After more failures in a row each request is also sent as gzip: a new back end may close the connection, or answer 502
 * through a gateway, when it receives zstd.
 */
const FAILURES_MAX = 10;
/** Answers to zstd that may be about the encoding rather than about the content. */
const MAY_BE_ENCODING: ReadonlySet<number> = new Set([400, 403, 406, 411, 415, 422, 500]);

const UNTRIED: CompressionStatus = {
  encoding: 'gzip',
  sinceMs: null,
  untilMs: null,
  reason: 'zstd is tried once gzip was accepted',
};

export const COMPRESSION_COUNTERS = {
  trials: {
    name: 'prom2otlp_send_zstd_trials_total',
    help: 'Requests sent with zstd before the back end had shown that it accepts zstd, by outcome.',
    labels: ['signal', 'outcome'],
  },
} as const;

export class AutoCompression {
  readonly #options: AutoCompressionOptions;
  readonly #counters: CountersOf<typeof COMPRESSION_COUNTERS>;
  #status: CompressionStatus;
  /** The last gzip request with content got an answer that would prove zstd. */
  #hasTakenGzip = false;
  #isTrying = false;
  #flipCount = 0;
  /** zstd and gzip were refused alike: the encoding is not the cause, and a second request for each would be in vain. */
  #isRefusedAlike = false;
  /** Failed requests in zstd since the last accepted one. */
  #failureCount = 0;

  private constructor(options: AutoCompressionOptions, status: CompressionStatus) {
    this.#options = options;
    this.#status = status;
    this.#counters = options.counters.of(COMPRESSION_COUNTERS);
  }

  /** Begins with the decision of an earlier run for this endpoint. */
  static async open(options: AutoCompressionOptions): Promise<AutoCompression> {
    const { queue, signal, protocol, endpoint } = options;
    const blob = await queue.readState(COMPRESSION_STATE, signal);
    const status = recall(blob ?? null, protocol, endpoint) ?? UNTRIED;
    // After a reload the queue may still compress for another endpoint.
    queue.compressAs(signal, status.encoding);
    return new AutoCompression(options, status);
  }

  status(): CompressionStatus {
    return this.#status;
  }

  /** Sends one request; `exchange` may be called twice, with zstd and then with gzip. */
  async send(
    rawBytes: number,
    exchange: (encoding: 'gzip' | 'zstd') => Promise<Exchange>,
  ): Promise<SendResult> {
    const hasContent = rawBytes >= CONTENT_BYTES_MIN;
    // A tiny request proves nothing; gzip is never refused.
    if (!hasContent) return (await exchange('gzip')).result;
    if (this.#status.encoding === 'zstd' && !this.#isRefusedAlike)
      return await this.#sendProven(exchange);
    if (this.#status.encoding === 'gzip' && this.#mayTry()) return await this.#try(exchange);
    const { result, isProof } = await exchange('gzip');
    this.#hasTakenGzip = isProof;
    if (result.kind === 'accepted') this.#isRefusedAlike = false;
    return result;
  }

  #mayTry(): boolean {
    if (this.#isTrying || !this.#hasTakenGzip) return false;
    const { untilMs } = this.#status;
    if (untilMs === null) return true;
    const leftMs = untilMs - this.#options.clock.nowMs();
    // A pause that seems longer was noted while the clock was ahead.
    return leftMs <= 0 || (leftMs > OFF_MS && leftMs < Infinity);
  }

  async #try(exchange: (encoding: 'gzip' | 'zstd') => Promise<Exchange>): Promise<SendResult> {
    const { signal } = this.#options;
    this.#isTrying = true;
    // The next trial needs a new proof that the back end works.
    this.#hasTakenGzip = false;
    try {
      const trial = await exchange('zstd');
      if (trial.isProof) {
        this.#counters.trials.add(1, signal, 'proven');
        this.#learn('zstd', null, 'the back end has taken it');
        return trial.result;
      }
      const { result } = trial.isPauseAsked ? trial : await exchange('gzip');
      const isRefused = !trial.isPauseAsked && result.kind === 'accepted';
      this.#counters.trials.add(1, signal, isRefused ? 'refused' : 'undecided');
      if (isRefused) this.#turnOff(trial, OFF_MS);
      return result;
    } finally {
      this.#isTrying = false;
    }
  }

  async #sendProven(
    exchange: (encoding: 'gzip' | 'zstd') => Promise<Exchange>,
  ): Promise<SendResult> {
    const attempt = await exchange('zstd');
    if (attempt.result.kind === 'accepted') this.#failureCount = 0;
    else this.#failureCount++;
    const isSuspect = MAY_BE_ENCODING.has(attempt.status) || this.#failureCount > FAILURES_MAX;
    const isFinal = attempt.result.kind === 'accepted' || attempt.isPauseAsked;
    if (isFinal || !isSuspect) return attempt.result;
    const { result, status } = await exchange('gzip');
    this.#isRefusedAlike = result.kind !== 'accepted' && status === attempt.status;
    // Another request may have changed the encoding meanwhile.
    if (result.kind === 'accepted' && this.#status.encoding === 'zstd') {
      this.#flipCount++;
      this.#turnOff(attempt, this.#flipCount < FLIPS_MAX ? OFF_MS : Infinity);
    }
    return result;
  }

  #turnOff({ result, status }: Exchange, forMs: number): void {
    const said = result.kind === 'accepted' ? `it answered ${String(status)}` : result.reason;
    this.#learn(
      'gzip',
      this.#options.clock.nowMs() + forMs,
      `the back end did not take zstd: ${said}`,
    );
  }

  #learn(encoding: 'gzip' | 'zstd', untilMs: number | null, reason: string): void {
    const { clock, logger, signal, endpoint, queue } = this.#options;
    this.#status = { encoding, sinceMs: clock.nowMs(), untilMs, reason };
    logger.info({ signal, endpoint, encoding, reason }, 'the compression of requests has changed');
    queue.compressAs(signal, encoding);
    void this.#keep(this.#status);
  }

  /** If the commit fails, the next run just repeats the trial. */
  async #keep(status: CompressionStatus): Promise<void> {
    const { queue, signal, protocol, endpoint } = this.#options;
    const before = await queue.readState(COMPRESSION_STATE, signal);
    const blob = retain(before ?? null, nameOf(protocol, endpoint), status);
    const state = [{ kind: COMPRESSION_STATE, key: signal, blob }];
    await queue.commit({ batches: [], state, reads: [] });
  }
}

/** The kind of the states that keep the decisions; the key is the signal. */
export const COMPRESSION_STATE = 'compression';

/** A decision kept for the next run; the newest comes last. */
interface Remembered extends CompressionStatus {
  readonly endpoint: string;
}

const REMEMBERED_MAX = 8;

/** The remembered decision for an endpoint; null when there is none, or the blob cannot be read. */
export function recall(
  blob: Buffer | null,
  protocol: string,
  shownEndpoint: string,
): CompressionStatus | null {
  const name = nameOf(protocol, shownEndpoint);
  const found = parse(blob).find(({ endpoint }) => endpoint === name);
  if (found === undefined) return null;
  const { encoding, sinceMs, untilMs, reason } = found;
  return { encoding, sinceMs, untilMs, reason };
}

function nameOf(protocol: string, shownEndpoint: string): string {
  return `${protocol} ${shownEndpoint}`;
}

/** The blob with a new decision for `endpoint` (its protocol and URL). */
function retain(
  blob: Buffer | null,
  endpoint: string,
  { untilMs, ...status }: CompressionStatus,
): Buffer {
  const others = parse(blob).filter(entry => entry.endpoint !== endpoint);
  // Infinity means until the restart: a later run need not wait.
  const until = untilMs === Infinity ? null : untilMs;
  const entries = [...others, { endpoint, ...status, untilMs: until }].slice(-REMEMBERED_MAX);
  return Buffer.from(JSON.stringify(entries));
}

function parse(blob: Buffer | null): readonly Remembered[] {
  const read = parseJson(blob?.toString() ?? '');
  return Array.isArray(read) ? read.filter(isRemembered) : [];
}

function isRemembered(value: unknown): value is Remembered {
  const isTime = (time: unknown): boolean => time === null || typeof time === 'number';
  const { endpoint, encoding, sinceMs, untilMs, reason } = membersOf(value);
  const isEncoding = encoding === 'gzip' || encoding === 'zstd';
  const areTexts = typeof endpoint === 'string' && typeof reason === 'string';
  return isEncoding && areTexts && isTime(sinceMs) && isTime(untilMs);
}
