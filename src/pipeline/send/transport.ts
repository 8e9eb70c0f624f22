// The seam between the sender and the protocols: one attempt to hand a request to the back end, and what came
// of it in four kinds. Whoever makes a SendResult has classified for good; nobody downstream reads a message.

import type { Signal } from '../../model/batch.ts';
import type { Encoding } from '../queue/queue.ts';

/** One OTLP request in protobuf, compressed as the queue holds it. */
export interface SendRequest {
  readonly signal: Signal;
  readonly encoding: Encoding;
  readonly body: Buffer;
  /** Uncompressed. */
  readonly rawBytes: number;
}

/**
 * - `accepted`: with that many points rejected and the back end's message about it; never sent again.
 * - `retry`: nothing was decided; the same again later, not before `retryAfterMs` when the back end said so.
 *   `isThrottled`: it is there, and asks for less (429).
 * - `hold`: refused, and the protocol knows no retry for it. `mayBeContent`: a failure of the back end (500) that this
 *   content may have caused; else it is about our key, path or protocol (401, 404), and says nothing about content.
 * - `split`: this content is refused; the same again will be, too. Smaller pieces may be accepted.
 * `reason` is one printable line without secrets. `status` is 0 where there is none.
 */
export type SendResult =
  | { readonly kind: 'accepted'; readonly rejected: number; readonly message: string }
  | {
      readonly kind: 'retry';
      readonly reason: string;
      readonly retryAfterMs: number | null;
      readonly isThrottled: boolean;
    }
  | {
      readonly kind: 'hold';
      readonly reason: string;
      readonly status: number;
      readonly mayBeContent: boolean;
    }
  | { readonly kind: 'split'; readonly reason: string; readonly status: number };

export interface Transport {
  /** One attempt, within the transport's own deadline. It never throws; an abort gives `retry`. */
  send(request: SendRequest, abort: AbortSignal): Promise<SendResult>;
  close(): Promise<void>;
}
