// The last gate before the back end's words leave the sender for a log, the page or the queue: it may echo the
// key that it refuses, or, when both ends stand behind one gateway, the key of the service.

import type { ApiConfig, OtlpSignalConfig } from '../../config/config.ts';
import { apiIdentity } from '../../service/clients.ts';
import { createRedactor as createServiceRedactor, type Redact } from '../../service/redact.ts';

/** Shorter words of a header's value are names of tenants and the like, and would tear holes into every text. */
const SECRET_LENGTH_MIN = 8;

/**
 * Replaces the value of every configured header, each long word of it, and what is secret at the service, by
 * `[secret]`.
 */
export function createRedactor(
  headers: OtlpSignalConfig['headers'],
  apis: readonly ApiConfig[],
): Redact {
  const distinct = new Map(apis.map(api => [apiIdentity(api), api]));
  const redactors = [...distinct.values()].map(createServiceRedactor);
  return text => {
    if (text === '') return text;
    const values = Object.values(headers).map(secret => secret.reveal());
    // `Bearer TOKEN` is echoed as TOKEN.
    const words = values.flatMap(value => [value, ...value.split(/[\s=:,;]+/)]);
    const secrets = words.filter(word => word.length >= SECRET_LENGTH_MIN);
    secrets.sort((a, b) => b.length - a.length);
    const ours = secrets.reduce((safe, secret) => safe.replaceAll(secret, '[secret]'), text);
    return redactors.reduce((safe, redact) => redact(safe), ours);
  };
}
