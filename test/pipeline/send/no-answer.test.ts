import { expect, test } from 'vitest';
import { noAnswer } from '../../../src/pipeline/send/transport.ts';
import { expectWordings } from '../../support/wordings.ts';

test.each<[what: string, cause: string]>([
  ['an unknown host', 'getaddrinfo ENOTFOUND a.b'],
  ['a name server that is away', 'getaddrinfo EAI_AGAIN a.b'],
  ['an unknown host, over gRPC', 'Name resolution failed for target dns:a.b:4317'],
  ['a refused connection', 'connect ECONNREFUSED 127.0.0.1:4318'],
  ['a certificate of tomorrow', 'certificate is not yet valid'],
  ['a refused connection, over gRPC', 'connect ECONNREFUSED ::1:4317 (2026-11-28T20:18:37.424Z)'],
  ['http to a port for TLS', 'other side closed'],
  ['http to a port for TLS, over gRPC', 'Failed to connect (2026-11-28T20:18:41.106Z)'],
  [
    'https to a port without TLS',
    '409D6778DF7F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../ssl/tlsany_meth.c:77:',
  ],
  ['too many open files', 'connect EMFILE 10.0.0.7:443 - Local (undefined:undefined)'],
  ['another protocol, over gRPC', 'Protocol error (2026-11-28T20:18:37.424Z)'],
  ['another protocol', 'Response does not match the HTTP/1.1 protocol (Expected HTTP/)'],
  [
    'a handshake that the back end ended',
    '40DD46761D7F0000:error:0A000410:SSL routines:ssl3_read_bytes:ssl/tls alert handshake failure:../ssl/record.c:918:SSL alert number 40\n',
  ],
  ['a broken connection', 'write EPIPE'],
  ['two lines', 'two\nlines'],
])('%s is an answer to wait for, with a remedy if there is one', (what, cause) => {
  const result = noAnswer(cause);
  expect(result).toMatchObject({ kind: 'retry', status: 0, retryAfterMs: null, pauses: 'signal' });
  expectWordings(`no answer: ${what}`, ['reason' in result ? result.reason : 'accepted']);
});
