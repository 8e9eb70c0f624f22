// How one pull of one API ended.

import type { ServiceFailure } from '../service/failure.ts';
import type { ListFailure } from './list.ts';

/** A failure of the service, or an answer of it that cannot be used. */
export type PullFailure = Pick<ServiceFailure, 'message' | 'hint' | 'retryAfterMs'> & {
  readonly reason: string;
};

/** `stopped` and `failed` (the store) leave the rest to the next pull. */
export type PullEnd =
  | {
      readonly kind: 'done';
      /** What waits for the budget of bytes. */
      readonly postponedCount: number;
    }
  | { readonly kind: 'unreachable'; readonly failure: PullFailure }
  | { readonly kind: 'stopped' | 'failed' };

export const DONE: PullEnd = { kind: 'done', postponedCount: 0 };

/** The end of a pull whose list could not be read. */
export function endOfList(failure: ListFailure): PullEnd {
  if (failure.kind === 'service') return { kind: 'unreachable', failure: failure.failure };
  const { reason, message } = failure;
  const hint = 'check logs.endpoints against what `check --probe` shows';
  return { kind: 'unreachable', failure: { reason, message, hint } };
}
