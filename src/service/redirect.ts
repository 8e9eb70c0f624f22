// Redirects are never followed by the HTTP library, which would take the key along to any host. One hop is
// followed, to the same origin over https (or within this machine), and only where the method allows it.

import { headerText, type Method, type Outcome } from './exchange.ts';
import type { Fault } from './failure.ts';

export interface RedirectOptions {
  readonly method: Method;
  readonly origin: string;
  /** The path that was asked for, which a relative Location refers to. */
  readonly path: string;
  /** False over plain http to another machine: there even the same origin may be somebody else. */
  readonly isSafe: boolean;
}

/** Where to ask instead, or why not. */
export type Redirect =
  | { readonly kind: 'follow'; readonly path: string }
  | { readonly kind: 'fault'; readonly fault: Fault };

/** Statuses that any client may follow with the method and body it had. */
const KEEPING_STATUSES: ReadonlySet<number> = new Set([307, 308]);
/** For these a POST would become a GET, which for an operation is something else. */
const REWRITING_STATUSES: ReadonlySet<number> = new Set([301, 302, 303]);

/** Null when the outcome is no redirect. */
export function redirectOf(outcome: Outcome, options: RedirectOptions): Redirect | null {
  if (outcome.kind === 'fault') return null;
  const { status, headers } = outcome;
  if (!KEEPING_STATUSES.has(status) && !REWRITING_STATUSES.has(status)) return null;
  const target = URL.parse(headerText(headers, 'location'), `${options.origin}${options.path}`);
  if (headerText(headers, 'location') === '' || target === null)
    return refuse(`${status} without a readable Location`);
  if (target.origin !== options.origin) return refuse(`${status} to ${placeOf(target)}`);
  if (!options.isSafe) return refuse(`${status} over plain http`);
  if (options.method !== 'GET' && REWRITING_STATUSES.has(status))
    return refuse(`${status} to a ${options.method}`);
  return { kind: 'follow', path: `${target.pathname}${target.search}` };
}

/** Scheme and host at most: the rest of the address may hold anything that was sent. */
function placeOf(target: URL): string {
  const isWeb = target.protocol === 'https:' || target.protocol === 'http:';
  return isWeb ? target.origin.slice(0, 200) : 'an address that is not http';
}

function refuse(detail: string): Redirect {
  return { kind: 'fault', fault: { reason: 'redirect', detail } };
}
