// `otlp.compression: auto`: zstd where the back end has shown that it takes it, else gzip. In: what came of each request,
// and in which encoding it went out. Out: the encoding of the next one, which is remembered over restarts.
//
//   state    requests go out as          what ends it
//   gzip     gzip                        gzip content is accepted, by an answer that would prove zstd: the next request
//                                        that has content is a trial
//   trial    zstd, once                  proof ─▶ zstd; anything else: the same request goes out as gzip at once, and
//                                        gzip's answer alone counts: accepted ─▶ off; else ─▶ gzip, nothing was learned
//   zstd     zstd                        a refusal that may be about the encoding, or any after ten in a row: the same
//                                        request as gzip at once; accepted ─▶ off; after the second time until the restart
//   off      gzip                        a day has passed ─▶ gzip
//
// Proof is a 200 whose body reads as an export response without rejections. Where not even gzip is answered like that,
// nothing is tried: each trial would send points twice. Empty and tiny requests prove nothing, and go out as gzip. An
// answer that asks for a pause (429, or any refusal with Retry-After) is obeyed as it is: nothing more goes out. A trial
// therefore costs nobody a point, and an outage costs no more than one extra request for each that is due. What cannot be
// seen is a gateway that acknowledges before it decodes; for that one there is `otlp.compression: gzip`.

import type { Clock } from '../../lib/clock.ts';
import type { Counter, Counters } from '../../lib/counters.ts';
import type { Logger } from '../../lib/log.ts';
import type { Signal } from '../../model/batch.ts';
import type { SendResult } from './transport.ts';

/** What came of one request, as far as its encoding may matter. */
export interface Exchange {
  readonly result: SendResult;
  /** Of HTTP; 0 without an answer. */
  readonly status: number;
  /** The body of a 200 reads as an export response without rejections. */
  readonly isProof: boolean;
  /** The back end asks for a pause. */
  readonly isPauseAsked: boolean;
}

/** How requests go out, and why; times are wall clock. */
export interface CompressionStatus {
  readonly encoding: 'gzip' | 'zstd';
  /** null: since the start. */
  readonly sinceMs: number | null;
  /** When zstd is tried again; null where that is open. */
  readonly untilMs: number | null;
  readonly reason: string;
}

export interface AutoCompressionOptions {
  readonly signal: Signal;
  /** How the back end is called in log lines. */
  readonly endpoint: string;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly logger: Logger;
  /** What an earlier run learned of this endpoint. */
  readonly remembered: CompressionStatus | null;
  /** Called with what the next run should know, and whenever the encoding of requests changes. */
  readonly onLearned: (status: CompressionStatus) => void;
}

/** Less content than this proves nothing: some back ends answer tiny requests without reading them. */
export const CONTENT_BYTES_MIN = 512;
/** How long zstd is left alone where it was refused. */
export const OFF_MS: number = 24 * 60 * 60_000;
/** So often may a proven encoding be refused before it is left alone until the restart. */
const FLIPS_MAX = 2;
/**
 * After so many failures in a row each request goes out as gzip as well: what is there now may break off the connection, or
 * answer by a gateway's 502, where it meets zstd.
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

export class AutoCompression {
  readonly #options: AutoCompressionOptions;
  readonly #trials: Counter;
  #status: CompressionStatus;
  /** The endpoint has taken the newest gzip content, by an answer that would prove zstd. */
  #hasTakenGzip = false;
  #isTrying = false;
  #flipCount = 0;
  /** Requests as zstd, with content, since one was accepted. */
  #failureCount = 0;

  constructor(options: AutoCompressionOptions) {
    this.#options = options;
    this.#status = options.remembered ?? UNTRIED;
    this.#trials = options.counters.counter(
      'prom2otlp_send_zstd_trials_total',
      'Requests sent with zstd before the back end had shown that it accepts zstd, by outcome.',
      ['signal', 'outcome'],
    );
  }

  status(): CompressionStatus {
    return this.#status;
  }

  /** Sends one request in the encoding that suits; `exchange` may be called twice, with zstd and then with gzip. */
  async send(
    rawBytes: number,
    exchange: (encoding: 'gzip' | 'zstd') => Promise<Exchange>,
  ): Promise<SendResult> {
    const hasContent = rawBytes >= CONTENT_BYTES_MIN;
    // What proves nothing goes out in the encoding that nobody refuses.
    if (!hasContent) return (await exchange('gzip')).result;
    if (this.#status.encoding === 'zstd') return await this.#sendProven(exchange);
    if (this.#mayTry()) return await this.#try(exchange);
    const { result, isProof } = await exchange('gzip');
    this.#hasTakenGzip = isProof;
    return result;
  }

  #mayTry(): boolean {
    if (this.#isTrying || !this.#hasTakenGzip) return false;
    const { untilMs } = this.#status;
    return untilMs === null || this.#options.clock.nowMs() >= untilMs;
  }

  async #try(exchange: (encoding: 'gzip' | 'zstd') => Promise<Exchange>): Promise<SendResult> {
    const { signal } = this.#options;
    this.#isTrying = true;
    // Whatever happens now, the next trial needs another sign that the back end is there.
    this.#hasTakenGzip = false;
    try {
      const trial = await exchange('zstd');
      if (trial.isProof) {
        this.#trials.add(1, signal, 'proven');
        this.#learn('zstd', null, 'the back end has taken it');
        return trial.result;
      }
      const { result } = trial.isPauseAsked ? trial : await exchange('gzip');
      const isRefused = !trial.isPauseAsked && result.kind === 'accepted';
      this.#trials.add(1, signal, isRefused ? 'refused' : 'undecided');
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
    const { result } = await exchange('gzip');
    // Another request may have found out meanwhile.
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
    const { clock, logger, signal, endpoint, onLearned } = this.#options;
    this.#status = { encoding, sinceMs: clock.nowMs(), untilMs, reason };
    logger.info({ signal, endpoint, encoding, reason }, 'the compression of requests has changed');
    onLearned(this.#status);
  }
}

/** What is kept for the next run: by endpoint, the newest last. */
interface Remembered extends CompressionStatus {
  readonly endpoint: string;
}

/** So many endpoints are remembered. */
const REMEMBERED_MAX = 8;

/** Reads what was kept; null where this endpoint was not met, and where the blob cannot be read. */
export function recall(blob: Buffer | null, endpoint: string): CompressionStatus | null {
  const found = parse(blob).find(entry => entry.endpoint === endpoint);
  if (found === undefined) return null;
  const { encoding, sinceMs, untilMs, reason } = found;
  return { encoding, sinceMs, untilMs, reason };
}

/** What to keep after something was learned of `endpoint` (its URL and protocol). */
export function retain(
  blob: Buffer | null,
  endpoint: string,
  { untilMs, ...status }: CompressionStatus,
): Buffer {
  const others = parse(blob).filter(entry => entry.endpoint !== endpoint);
  // `until the restart` is no time that a later run must wait for.
  const until = untilMs === Infinity ? null : untilMs;
  const entries = [...others, { endpoint, ...status, untilMs: until }].slice(-REMEMBERED_MAX);
  return Buffer.from(JSON.stringify(entries));
}

function parse(blob: Buffer | null): readonly Remembered[] {
  try {
    const read: unknown = blob === null ? [] : JSON.parse(blob.toString('utf8'));
    return Array.isArray(read) ? read.filter(isRemembered) : [];
  } catch {
    return [];
  }
}

function isRemembered(value: unknown): value is Remembered {
  const isTime = (time: unknown): boolean => time === null || typeof time === 'number';
  if (typeof value !== 'object' || value === null) return false;
  const { endpoint, encoding, sinceMs, untilMs, reason } = value as Record<string, unknown>;
  const isEncoding = encoding === 'gzip' || encoding === 'zstd';
  const areTexts = typeof endpoint === 'string' && typeof reason === 'string';
  return isEncoding && areTexts && isTime(sinceMs) && isTime(untilMs);
}
