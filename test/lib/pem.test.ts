import { expect, test } from 'vitest';
import { findBadCertificate, findBadPair } from '../../src/lib/pem.ts';
import { SECOND_CA, TEST_CLIENT, TEST_TLS } from '../support/certificates.ts';

test('a list of certificates is usable when every one of them can be read', () => {
  const check = (pem: string, want: string | null): void => {
    expect(findBadCertificate(pem)).toBe(want);
  };
  const garbage = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  check(TEST_TLS.ca, null);
  check(`# both\n${TEST_TLS.ca}\n${SECOND_CA}`, null);
  check('', 'there is no certificate in it');
  check('-----BEGIN CERTIFICATE-----\nAAAA', 'there is no certificate in it');
  check(garbage, 'a certificate in it cannot be read');
  check(`${TEST_TLS.ca}${garbage}`, 'a certificate in it cannot be read');
});

test('a certificate goes with its own key only', () => {
  expect(findBadPair(TEST_CLIENT.cert, TEST_CLIENT.key)).toBe(null);
  expect(findBadPair(TEST_CLIENT.cert, TEST_TLS.key)).toContain('mismatch');
  expect(findBadPair(TEST_CLIENT.cert, 'no key')).not.toBe(null);
});
