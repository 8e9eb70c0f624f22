import { expect, test } from 'vitest';
import { findBadCertificate } from '../../src/lib/pem.ts';
import { FIRST_CA, SECOND_CA } from '../support/certificates.ts';

test('a list of certificates is usable when every one of them can be read', () => {
  const check = (pem: string, want: string | null): void => {
    expect(findBadCertificate(pem)).toBe(want);
  };
  const garbage = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  check(FIRST_CA, null);
  check(`# both\n${FIRST_CA}\n${SECOND_CA}`, null);
  check('', 'there is no certificate in it');
  check('-----BEGIN CERTIFICATE-----\nAAAA', 'there is no certificate in it');
  check(garbage, 'a certificate in it cannot be read');
  check(`${FIRST_CA}${garbage}`, 'a certificate in it cannot be read');
});
