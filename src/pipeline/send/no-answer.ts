// In words: why a request had no answer, and what to do about it. Causes come as texts of the network, of TLS
// and of the client libraries; the same table serves both protocols, since gRPC passes on nothing but a text.

import { oneLine } from './answer.ts';
import type { SendResult } from './transport.ts';

const HINTS: readonly (readonly [cause: RegExp, hint: string])[] = [
  [/^none within/, 'raise otlp.timeout if the back end needs longer by nature'],
  [/ENOTFOUND|EAI_|Name resolution failed/, 'check the host in otlp.endpoint and the name servers'],
  [/ECONNREFUSED/, 'check host and port in otlp.endpoint, and that the back end runs'],
  [/has expired/, 'the back end needs a new certificate'],
  [/not yet valid/, "check the clocks of both machines, and the back end's certificate"],
  [/altnames/, "otlp.endpoint must name a host of the back end's certificate"],
  [
    /unable to (?:verify|get)|self-signed|issuer/,
    'otlp.tls.ca must hold the authority of the back end',
  ],
  [/ alert /, 'the back end ended the handshake: check otlp.tls.cert and otlp.tls.key'],
  [/wrong version number|packet length too long/, 'no TLS is spoken there: check otlp.endpoint'],
  [/Protocol error|Expected HTTP/, 'another protocol is spoken there: check otlp.protocol'],
  // That a certificate of ours is wanted is told by TLS 1.3 after the handshake, and not passed on by the client.
  [
    /other side closed|ECONNRESET|disconnected/,
    'its log may say why; over https it may want a certificate (otlp.tls.cert)',
  ],
];

/** OpenSSL names a thread, numbers, libraries and lines of its source around what went wrong. */
const OPENSSL_ERROR = /\S*:error:\w+:[^:]*:[^:]*:([^:]*):\S+:\d+:.*/;

/** Nothing was decided about the request. `cause` holds no secret any more. */
export function noAnswer(cause: string): SendResult {
  const words = oneLine(cause.replace(OPENSSL_ERROR, '$1'));
  const hint = HINTS.find(([pattern]) => pattern.test(words))?.[1];
  const reason = `no answer: ${words}${hint === undefined ? '' : `; ${hint}`}`;
  return { kind: 'retry', reason, retryAfterMs: null, isThrottled: false };
}
