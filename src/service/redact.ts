// Redacts every text of the other side before it is shown: it may echo the key, a configured header's value or the
// proxy's password. Texts are redacted before they are shortened, because half a key is a secret, too.

import type { ApiConfig, Secret } from '../config/config.ts';

/** Replaces every secret in a text by `[secret]`. */
export type Redact = (text: string) => string;

/** Shorter header values are codes of regions and the like, and occur in ordinary text. */
const HEADER_VALUE_LENGTH_MIN = 4;
/** Shorter words of a value are names of schemes and tenants, and occur in ordinary text. */
const WORD_LENGTH_MIN = 8;
/** Earlier secrets, which a later answer may still echo: at most this many. */
const REMEMBERED_MAX = 32;

/** The returned function reads the secrets again at each call, and remembers earlier ones. */
export function createRedactor(readSecrets: () => readonly string[]): Redact {
  const known = new Set<string>();
  let pattern: RegExp | null = null;
  return text => {
    const current = new Set(readSecrets());
    if ([...current].some(secret => !known.has(secret))) {
      for (const secret of current) known.add(secret);
      for (const earlier of known)
        if (known.size > REMEMBERED_MAX + current.size && !current.has(earlier))
          known.delete(earlier);
      pattern = patternOf([...known]);
    }
    return pattern === null ? text : text.replace(pattern, '[secret]');
  };
}

/**
 * The APIs of the running configuration, for parts that outlive a reload: each configuration reads
 * rotated secrets on its own.
 */
export class KnownApis {
  #apis: readonly ApiConfig[] = [];
  /** Redacts the secrets of these APIs, and of earlier ones, in a text. */
  readonly redact: Redact = createRedactor(() => this.#apis.flatMap(secretsOf));

  constructor(apis: readonly ApiConfig[]) {
    this.follow(apis);
  }

  follow(apis: readonly ApiConfig[]): void {
    // Remembers secrets of the former APIs that have rotated since the last text.
    this.redact('');
    this.#apis = [...new Set(apis)];
    this.redact('');
  }
}

/** The secrets of an API that may be in a text. */
export function secretsOf(api: ApiConfig): readonly string[] {
  const headerValues = Object.values(api.headers).map(value => value.reveal());
  const key = api.key.reveal();
  const long = headerValues.filter(value => value.length >= HEADER_VALUE_LENGTH_MIN);
  const others = [...long, ...secretWords(headerValues), ...proxySecrets(api.proxy)];
  return key === '' ? others : [key, ...others];
}

/** Values, and each word of them: `Bearer TOKEN` is echoed as TOKEN. */
export function secretWords(values: readonly string[]): readonly string[] {
  const words = values.flatMap(value => [
    value,
    ...value.split(/\s+/),
    ...value.split(/[\s=:,;]+/),
  ]);
  return words.filter(word => word.length >= WORD_LENGTH_MIN);
}

/** The user and the password of a proxy, as they are written and as they are sent. */
export function proxySecrets(proxy: Secret | null): readonly string[] {
  const url = URL.parse(proxy?.reveal() ?? '');
  if (url === null) return [];
  const pair = `${decodeText(url.username)}:${decodeText(url.password)}`;
  const basic = Buffer.from(pair).toString('base64');
  const values = [url.username, url.password, decodeText(url.password), basic];
  return url.username === '' ? [] : values.filter(value => value.length >= HEADER_VALUE_LENGTH_MIN);
}

/** As it is where it is not percent-encoded text. */
function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Matches in any case (a host name comes back in lower case), also percent-encoded; the longest first. */
function patternOf(secrets: readonly string[]): RegExp {
  const forms = secrets.flatMap(secret => [secret, encodeURIComponent(secret.toWellFormed())]);
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(form => form.replace(/[^\w]/g, '\\$&')).join('|'), 'gi');
}
