// Who may read the status page. With a token: whoever sends it, as `Authorization: Bearer TOKEN` or, since browsers
// can ask for nothing else, as the password of Basic (RFC 7617, any user name). Without one, which the configuration
// allows on loopback only: whoever asks for this machine by name, since a web page elsewhere may have had its own
// name resolved to 127.0.0.1 (DNS rebinding) but cannot choose the Host header.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Secret } from '../config/config.ts';
import { isLoopbackHost } from '../lib/loopback.ts';

export type Access = 'granted' | 'token_needed' | 'foreign_host';

/** The challenges of a 401; browsers take the second. */
export const CHALLENGES: readonly string[] = [
  'Bearer realm="prom2otlp"',
  'Basic realm="prom2otlp", charset="UTF-8"',
];

export interface AccessRules {
  readonly token: Secret | null;
  /** What the server listens on. */
  readonly host: string;
}

export function checkAccess(headers: IncomingHttpHeaders, { token, host }: AccessRules): Access {
  if (token !== null) {
    const given = tokenOf(headers.authorization ?? '');
    return given !== null && isEqual(given, token.reveal()) ? 'granted' : 'token_needed';
  }
  if (!isLoopbackHost(host)) return 'granted';
  const asked = hostNameOf(headers.host ?? '');
  return isLoopbackHost(asked) || asked === host ? 'granted' : 'foreign_host';
}

function tokenOf(authorization: string): string | null {
  const [, scheme = '', value = ''] = /^(\S+) +(\S+) *$/.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return null;
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon < 0 ? null : pair.slice(colon + 1);
}

/** Takes as long for a nearly right token as for a wrong one, whatever their lengths. */
function isEqual(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/** The Host header without its port. */
function hostNameOf(hostHeader: string): string {
  return hostHeader.replace(/:\d*$/, '').toLowerCase();
}
