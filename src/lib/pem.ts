// Judges PEM texts before they are used: Node's TLS silently skips a certificate that it cannot read, and every
// handshake fails later on.

import { X509Certificate } from 'node:crypto';

const CERTIFICATE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----/g;

/** Why a text cannot serve as a list of authorities, without a word of it; null when it can. */
export function findBadCertificate(pem: string): string | null {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) return 'there is no certificate in it';
  const isReadable = blocks.every(block => {
    try {
      return new X509Certificate(block).subject !== undefined;
    } catch {
      return false;
    }
  });
  return isReadable ? null : 'a certificate in it cannot be read';
}
