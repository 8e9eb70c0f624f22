// Certificates for tests, as PEM texts valid from 2020 to 2120. There are two authorities, so that one can be wrong;
// the keys of both were thrown away. All servers' certificates have the same key.

import { readFileSync } from 'node:fs';

export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A certificate for servers on `localhost`, and the authority that signed it. */
export const TEST_TLS: TestCertificate & { readonly ca: string } = {
  ca: read('ca.pem'),
  ...pair('localhost.pem', 'localhost.key'),
};
/** The authority that signed all certificates below. */
export const SECOND_CA: string = read('second-ca.pem');
/** A certificate for `localhost` that expired in 2021. */
export const EXPIRED_SERVER: TestCertificate = pair('expired.pem', 'localhost.key');
/** A certificate for `elsewhere.example`. */
export const ELSEWHERE_SERVER: TestCertificate = pair('elsewhere.pem', 'localhost.key');
/** An intermediate authority whose own issuer is nowhere, and a certificate for `localhost` that it signed. */
export const INTERMEDIATE_CA: string = read('intermediate.pem');
export const BELOW_INTERMEDIATE: TestCertificate = pair('below-intermediate.pem', 'localhost.key');
export const TEST_CLIENT: TestCertificate = pair('client.pem', 'client.key');

function pair(cert: string, key: string): TestCertificate {
  return { cert: read(cert), key: read(key) };
}

function read(name: string): string {
  return readFileSync(new URL(`tls/${name}`, import.meta.url), 'utf8');
}
