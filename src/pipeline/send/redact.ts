// The last gate before the back end's words leave the sender for a log, the page or the queue: it may echo the
// key that it refuses.

import type { OtlpSignalConfig } from '../../config/config.ts';

/** Shorter words of a header's value are names of tenants and the like, and would tear holes into every text. */
const SECRET_LENGTH_MIN = 8;

/** Replaces the value of every configured header, and each long word of it, by `[secret]`. */
export function createRedactor(headers: OtlpSignalConfig['headers']): (text: string) => string {
  return text => {
    const values = Object.values(headers).map(secret => secret.reveal());
    // `Bearer TOKEN` is echoed as TOKEN.
    const words = values.flatMap(value => [value, ...value.split(/[\s=:,;]+/)]);
    const secrets = words.filter(word => word.length >= SECRET_LENGTH_MIN);
    secrets.sort((a, b) => b.length - a.length);
    return secrets.reduce((safe, secret) => safe.replaceAll(secret, '[secret]'), text);
  };
}
