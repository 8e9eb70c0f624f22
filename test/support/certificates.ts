// Certificates for tests, as PEM texts valid from 2020 to 2120. Two authorities, so that one can be the wrong one;
// the keys of both were thrown away. All servers' certificates have the same key.

import { readFileSync } from 'node:fs';

export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** For servers on `localhost`, and the authority that signed it. */
export const TEST_TLS: TestCertificate & { readonly ca: string } = {
  ca: read('ca.pem'),
  ...pair('localhost.pem', 'localhost.key'),
};
/** Signed everything below. */
export const SECOND_CA: string = read('second-ca.pem');
/** For `localhost`, until 2021. */
export const EXPIRED_SERVER: TestCertificate = pair('expired.pem', 'localhost.key');
/** For `elsewhere.example`. */
export const ELSEWHERE_SERVER: TestCertificate = pair('elsewhere.pem', 'localhost.key');
export const TEST_CLIENT: TestCertificate = pair('client.pem', 'client.key');

function pair(cert: string, key: string): TestCertificate {
  return { cert: read(cert), key: read(key) };
}

function read(name: string): string {
  return readFileSync(new URL(`tls/${name}`, import.meta.url), 'utf8');
}
