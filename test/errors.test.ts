import { expect, test } from 'vitest';
import { causeText, systemRemedy } from '../src/errors.ts';
import { expectWordings } from './support/wordings.ts';

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: it failed`), { code });
}

test.each(['EMFILE', 'ENFILE', 'ENOLCK', 'EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT'])(
  '%s has a remedy of its own, also as the cause of another error',
  code => {
    const remedy = systemRemedy(systemError(code));
    expectWordings(`system error: ${code}`, [remedy ?? '']);
    expect(systemRemedy(new Error('outer', { cause: systemError(code) }))).toBe(remedy);
  },
);

test('other errors have none', () => {
  for (const error of [systemError('EIO'), new Error('x'), 'EMFILE', undefined])
    expect(systemRemedy(error)).toBeNull();
});

test('one cause has the same words each time', () => {
  const check = (text: string, want: string): void => expect(causeText(new Error(text))).toBe(want);
  check('connect ECONNREFUSED 10.0.0.7:443', 'connect ECONNREFUSED');
  check('connect ETIMEDOUT fd00::7:443 - Local (fd00::1:51234)', 'connect ETIMEDOUT');
  check('Protocol error (2026-11-28T20:18:37.424Z)', 'Protocol error');
  check(
    'Connect Timeout Error (attempted addresses: 10.0.0.7:443, 10.0.0.8:443, timeout: 10000ms)',
    'Connect Timeout Error (timeout: 10000ms)',
  );
  check(
    '409D6778DF7F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../ssl/tlsany_meth.c:77:',
    'wrong version number',
  );
  // A host and a path are part of the cause.
  check('getaddrinfo ENOTFOUND db.example.com', 'getaddrinfo ENOTFOUND db.example.com');
  check("EACCES: permission denied, open '/a'", "EACCES: permission denied, open '/a'");
});
