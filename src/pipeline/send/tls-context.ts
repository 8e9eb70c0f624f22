// The certificates of the configuration, ready for connections to the back end. What cannot be used is found at
// the start, not with the first request.

import { createSecureContext, type SecureContext } from 'node:tls';
import type { OtlpSignalConfig } from '../../config/config.ts';
import { causeText, OperatorError } from '../../errors.ts';
import { findBadCertificate } from '../../lib/pem.ts';

/** Throws an OperatorError when a certificate or the key cannot be read, or the two do not belong together. */
export function createTlsContext({ ca, cert, key }: OtlpSignalConfig['tls']): SecureContext {
  const badAuthority = ca === null ? null : findBadCertificate(ca);
  if (badAuthority !== null) refuse('ca', badAuthority, 'check the PEM file');
  try {
    return createSecureContext({
      ...(ca === null ? {} : { ca }),
      ...(cert === null ? {} : { cert }),
      ...(key === null ? {} : { key: key.reveal() }),
    });
  } catch (error) {
    return refuse('cert', causeText(error), 'check that key is the private key of cert');
  }
}

function refuse(key: 'ca' | 'cert', cause: string, hint: string): never {
  const message = `cannot use otlp.tls.${key}: ${cause}`;
  throw new OperatorError([{ code: 'E_CONFIG_VALUE', key: `otlp.tls.${key}`, message, hint }]);
}
