// The key of a Google service account: the JSON file that Google's console makes. Only what is needed for a token is read.

import { isLoopbackHost } from '../lib/loopback.ts';
import { membersOf, parseJson } from '../lib/json.ts';

export interface ServiceAccount {
  readonly email: string;
  /** PKCS#8 as PEM. */
  readonly privateKey: string;
  readonly keyId: string | null;
  readonly tokenUrl: string;
}

const MEMBERS = ['client_email', 'private_key', 'token_uri'] as const;

/** The account, or why the text is none, in words that repeat nothing of it. */
export function readServiceAccount(text: string): ServiceAccount | string {
  const account = membersOf(parseJson(text));
  const textOf = (name: string): string => {
    const value = account[name];
    return typeof value === 'string' ? value : '';
  };
  const missing = MEMBERS.filter(name => textOf(name) === '');
  if (missing.length > 0)
    return `expected the JSON of a service account, with ${missing.join(', ')}`;
  const tokenUrl = textOf('token_uri');
  if (!isTokenUrlSafe(tokenUrl)) return 'its token_uri is not an https URL';
  const keyId = textOf('private_key_id');
  return {
    email: textOf('client_email'),
    privateKey: textOf('private_key'),
    keyId: keyId === '' ? null : keyId,
    tokenUrl,
  };
}

/** The credentials of a client go there: https, or this machine. */
export function isTokenUrlSafe(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}
