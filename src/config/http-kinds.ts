// Kinds of values for HTTP and TLS: URLs, paths below them, addresses to listen on, headers, and the PEM files of
// certificates and keys. Values that must not be printed are kept as a Secret. A rotated secret must pass the same test
// as at the start, so that an unusable text never replaces a good one.

import { isLoopbackHost } from '../lib/loopback.ts';
import { findBadCertificate } from '../lib/pem.ts';
import { leaf, mapOf, type Kind, type LeafInput, type Reading, type Refusal } from './declare.ts';
import { ConfigSecret, type Secret } from './secrets.ts';
import { isTokenUrlSafe, readServiceAccount } from './service-account.ts';

/**
 * An http(s) URL without user and fragment. `isBase`: a path is appended to it, so it has no query and no trailing slash.
 * Any other URL is used unchanged.
 */
export function httpUrl(expected: string, isBase: boolean): Kind<string> {
  return leaf({
    expected,
    json: { type: 'string', pattern: '^https?://' },
    read: ({ text = '' }): Reading<string> | undefined => {
      const url = parseHttpUrl(text);
      if (url === undefined) return undefined;
      const { href, search, hash } = url;
      return (
        refuseUser(url) ??
        refusePart(isBase ? search : '', 'query') ??
        refusePart(hash, 'fragment (`#…`)') ?? { value: isBase ? href.replace(/\/+$/, '') : href }
      );
    },
    suggest: suggestUrl,
  });
}

/** The URL of a proxy. It may hold a user and a password, so it is a secret. */
export function proxyUrl(): Kind<Secret> {
  const expected = 'the http or https URL of a proxy';
  return secret({
    expected,
    refuse: text => {
      const url = parseHttpUrl(text);
      if (url === undefined) return { problem: `expected ${expected}` };
      const isBare = url.pathname === '/' && url.search === '' && url.hash === '';
      if (!isBare) return { problem: `expected ${expected}, without a path` };
      if (isDecodable(url.username) && isDecodable(url.password)) return undefined;
      return { problem: `expected ${expected}, with \`%25\` for each \`%\` of its password` };
    },
  });
}

/** The clients decode the user and the password of a proxy, and throw where they cannot. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function parseHttpUrl(text: string): URL | undefined {
  // The parser forgives blanks, backslashes and missing slashes; a configuration should not rely on it.
  if (!/^https?:\/\/[^/]/i.test(text) || /[\s\\]/.test(text)) return undefined;
  return URL.parse(text) ?? undefined;
}

function suggestUrl({ text }: LeafInput): string | undefined {
  if (text === undefined || !/^[\w.-]+(?::\d+)?(?:\/[\w./-]*)?$/.test(text)) return undefined;
  const url = URL.parse(`https://${text}`);
  // A host named http is a scheme without its slashes.
  if (url === null || /^https?$/.test(url.hostname)) return undefined;
  return `${isLoopbackHost(url.hostname) ? 'http' : 'https'}://${text}`;
}

function refuseUser(url: URL): Refusal | undefined {
  if (url.username === '' && url.password === '') return undefined;
  return {
    problem: 'this URL cannot contain a user or password',
    hint: 'remove everything before the `@`; credentials go into `headers` or `key`',
  };
}

function refusePart(part: string, name: string): Refusal | undefined {
  return part === '' ? undefined : { problem: `this URL cannot have a ${name}`, hint: 'remove it' };
}

/** A path below a base URL. A query is legal, another host is not. */
export function urlPath(): Kind<string> {
  return leaf({
    expected: 'a path that begins with one `/`',
    json: { type: 'string', pattern: '^/' },
    read: ({ text }) =>
      text !== undefined && /^\/(?!\/)[^\s#\\]*$/.test(text) ? { value: text } : undefined,
    suggest: ({ text }) =>
      text !== undefined && /^[\w.][\w./-]*$/.test(text) ? `/${text}` : undefined,
  });
}

/** The host is without brackets. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** `host:port`; port 0 takes a free one. */
export function listenAddress(): Kind<ListenAddress> {
  return leaf<ListenAddress>({
    expected: 'host:port such as 127.0.0.1:9464 or [::1]:9464',
    json: { type: 'string', pattern: ':\\d+$' },
    read: ({ text = '' }): Reading<ListenAddress> | undefined => {
      const match = /^(?:\[([\da-fA-F:.]+)\]|([A-Za-z\d][A-Za-z\d.-]*)):(\d{1,5})$/.exec(text);
      const host = match?.[1] ?? match?.[2];
      const port = Number(match?.[3]);
      return host === undefined || port > 65_535 ? undefined : { value: { host, port } };
    },
    suggest: ({ value, text = '' }) => {
      if (typeof value === 'number') return `127.0.0.1:${String(value)}`;
      const port = /^\*?:?(\d{1,5})$/.exec(text)?.[1];
      if (port !== undefined) return `${text.includes(':') ? '0.0.0.0' : '127.0.0.1'}:${port}`;
      return /^[A-Za-z\d.-]+$/.test(text) ? `${text}:9464` : undefined;
    },
  });
}

/** Headers that the program or HTTP itself sets. */
const OWN_HEADERS =
  /^(?:connection|content-(?:encoding|length|type)|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/;

/** Extra request headers: legal names (never one of `refused`), values that are secrets. */
export function headers(
  refused: Readonly<Record<string, string>> = {},
): Kind<Readonly<Record<string, Secret>>> {
  const judge = (name: string): Refusal | undefined => {
    const word = name.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
      return { problem: 'this is not a legal name of a header', hint: 'use letters, digits and -' };
    }
    const hint = Object.hasOwn(refused, word) ? refused[word] : undefined;
    if (hint !== undefined) return { problem: `${name} cannot be set here`, hint };
    if (!OWN_HEADERS.test(word)) return undefined;
    return { problem: `${name} cannot be set here`, hint: 'remove it; the program sets it itself' };
  };
  return mapOf(judge, headerValue('the value of a header'));
}

interface SecretKind {
  readonly expected: string;
  /** Why a text cannot be used, in words that do not repeat it. */
  readonly refuse: (text: string) => Refusal | undefined;
  readonly isFile?: true;
}

/** A text that is kept as a Secret and can be read again where it came from a file or a variable. */
function secret({ expected, refuse, isFile }: SecretKind): Kind<Secret> {
  return leaf<Secret>({
    expected,
    json: { type: 'string' },
    isSecret: true,
    ...(isFile && { isFile }),
    read: ({ text, expanded }) => {
      if (text === undefined) return undefined;
      if (text === '') return { problem: `expected ${expected}, got an empty text` };
      const reread = (): string | undefined => {
        const again = expanded?.reread() ?? '';
        return again === '' || refuse(again) !== undefined ? undefined : again;
      };
      return refuse(text) ?? { value: new ConfigSecret(text, reread, expanded?.template) };
    },
  });
}

/** A secret that travels as (part of) a header: visible ASCII characters, blanks only between them. */
export function headerValue(expected: string): Kind<Secret> {
  return secret({
    expected,
    refuse: text => {
      if (/^[!-~](?:[ -~\t]*[!-~])?$/.test(text)) return undefined;
      if (/[\r\n]/.test(text)) {
        return { problem: 'the value holds a line break, which no header can carry' };
      }
      return text === text.trim()
        ? { problem: 'the value holds characters that no header can carry' }
        : { problem: 'the value begins or ends with a blank' };
    },
  });
}

/** A secret that is encoded before it travels: any text of one line. */
export function secretText(expected: string): Kind<Secret> {
  const refuse = (text: string): Refusal | undefined =>
    /\p{Cc}/u.test(text)
      ? { problem: 'the value holds a line break or a control character' }
      : undefined;
  return secret({ expected, refuse });
}

/** The URL where tokens are asked for. The client's secret goes there, so that it must be https, or this machine. */
export function tokenUrl(): Kind<string> {
  const expected = 'the https URL of a token endpoint';
  const kind = httpUrl(expected, false);
  return {
    ...kind,
    read: (value, path, report) => {
      const text = kind.read(value, path, report);
      if (text === undefined || isTokenUrlSafe(text)) return text;
      const problem = 'plain http shows the secret to everybody on the network path';
      report({ path, problem, hint: 'use https' });
      return undefined;
    },
  };
}

/** The key of a Google service account, as the JSON file holds it. */
export function serviceAccount(): Kind<Secret> {
  return secret({
    expected: 'the path of the JSON file of a service account',
    isFile: true,
    refuse: text => {
      const problem = readServiceAccount(text);
      return typeof problem === 'string' ? { problem } : undefined;
    },
  });
}

const BEGIN = '-----BEGIN CERTIFICATE-----';

/** Certificates as PEM text: the key names their file, or holds the text itself. */
export function certificates(): Kind<string> {
  return leaf({
    expected: 'the path of a PEM file with certificates',
    json: { type: 'string' },
    isSecret: true,
    isFile: true,
    read: ({ text }) => {
      if (text === undefined) return undefined;
      const cause = findBadCertificate(text);
      if (cause === null) return { value: text };
      return { problem: `expected certificates in PEM form (\`${BEGIN}\`): ${cause}` };
    },
  });
}

/** A private key as PEM text, without a passphrase. */
export function privateKey(): Kind<Secret> {
  return secret({
    expected: 'the path of a PEM file with a private key',
    isFile: true,
    refuse: text => {
      if (!/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(text)) {
        return { problem: 'expected a private key in PEM form (`-----BEGIN PRIVATE KEY-----`)' };
      }
      if (!text.includes('ENCRYPTED')) return undefined;
      return { problem: 'the private key is encrypted', hint: 'store it without a passphrase' };
    },
  });
}
