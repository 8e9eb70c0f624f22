// The gate that every word of the other side passes before it is shown: whatever an answer or an error
// echoes, neither the key nor the value of a configured header nor the proxy's password gets through. It
// comes before any cutting, since half a key is a secret too.

import type { ApiConfig } from '../config/config.ts';

/** Replaces every secret in a text by `[secret]`. */
export type Redact = (text: string) => string;

/** Shorter values of headers are codes of regions and the like, and would tear holes into every text. */
const HEADER_VALUE_LENGTH_MIN = 4;
/** Secrets that were replaced may still be echoed by an answer that is on its way. */
const REMEMBERED_MAX = 32;

/** The function looks at the secrets anew each time, and remembers the ones before them. */
export function createRedactor(api: ApiConfig): Redact {
  const known = new Set<string>();
  let pattern: RegExp | null = null;
  return text => {
    const fresh = secretsOf(api).filter(secret => !known.has(secret));
    if (fresh.length > 0) {
      for (const secret of fresh) known.add(secret);
      for (const oldest of known) if (known.size > REMEMBERED_MAX) known.delete(oldest);
      pattern = patternOf([...known]);
    }
    return pattern === null ? text : text.replace(pattern, '[secret]');
  };
}

function secretsOf(api: ApiConfig): string[] {
  const headerValues = Object.values(api.headers).map(value => value.reveal());
  const proxy = URL.parse(api.proxy?.reveal() ?? '');
  const others = [...headerValues, proxy?.username ?? '', proxy?.password ?? ''];
  const key = api.key.reveal();
  const long = others.filter(value => value.length >= HEADER_VALUE_LENGTH_MIN);
  return key === '' ? long : [key, ...long];
}

/** Matches in any case (a host name comes back in lower case) and percent-encoded; the longest first. */
function patternOf(secrets: readonly string[]): RegExp {
  const forms = secrets.flatMap(secret => [secret, encodeURIComponent(secret.toWellFormed())]);
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(form => form.replace(/[^\w]/g, '\\$&')).join('|'), 'gi');
}
