// Checks PEM texts before they are used: Node's TLS silently skips a certificate that it cannot read, and every handshake
// fails later.

import { X509Certificate } from 'node:crypto';

const CERTIFICATE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----/g;

/** Why a text is not a list of certificates, without repeating any of it; null if it is. */
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

/** Why a certificate and a private key cannot be used together, without repeating any of them; null if they can. */
export function findBadPair(cert: string, key: string): string | null {
  // Loaded here, because it takes 7 MB, and few configurations have a pair.
  const { createSecureContext } = process.getBuiltinModule('node:tls');
  try {
    createSecureContext({ cert, key });
    return null;
  } catch (error) {
    // `error:05800074:x509 certificate routines::key values mismatch`: the cause comes last.
    return String(error).replace(/^.*:\s*/s, '');
  }
}
