import { expect, test } from 'vitest';
import { noAnswer } from '../../../src/pipeline/send/transport.ts';

test('each cause that an operator can fix has a remedy', () => {
  const check = (cause: string, want: string): void => {
    const waits = { status: 0, retryAfterMs: null, pauses: 'signal' };
    expect(noAnswer(cause)).toEqual({ kind: 'retry', reason: want, ...waits });
  };
  const look = 'check the host in otlp.endpoint and the name servers';
  check('getaddrinfo ENOTFOUND a.b', `no answer: getaddrinfo ENOTFOUND a.b; ${look}`);
  check('getaddrinfo EAI_AGAIN a.b', `no answer: getaddrinfo EAI_AGAIN a.b; ${look}`);
  const dns = 'Name resolution failed for target dns:a.b:4317';
  check(dns, `no answer: ${dns}; ${look}`);
  check(
    'connect ECONNREFUSED 127.0.0.1:4318',
    'no answer: connect ECONNREFUSED 127.0.0.1:4318; check host and port in otlp.endpoint, and that the back end runs',
  );
  const clocks = "check the clocks of both machines, and the back end's certificate";
  check('certificate is not yet valid', `no answer: certificate is not yet valid; ${clocks}`);
  const http = 'Response does not match the HTTP/1.1 protocol (Expected HTTP/)';
  const protocol = 'it uses another protocol: check otlp.protocol';
  check(http, `no answer: ${http}; ${protocol}`);
  const alert = 'ssl3_read_bytes:ssl/tls alert handshake failure:../ssl/record.c:918:';
  check(
    `40DD46761D7F0000:error:0A000410:SSL routines:${alert}SSL alert number 40\n`,
    'no answer: ssl/tls alert handshake failure; the back end ended the handshake: check otlp.tls.cert and otlp.tls.key',
  );
  check('write EPIPE', 'no answer: write EPIPE');
  check('two\nlines', 'no answer: two lines');
});
