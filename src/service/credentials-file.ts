// The credentials of external storage (service-spec 2.6): the required members of a file, and its encoding. Problems
// name members and line numbers; they never repeat a value.

import { isObject, parseJson } from '../lib/json-pointer.ts';

/** By the scheme of the bucket's address. */
export type Storage = 's3' | 'gs';

export type Encoded =
  | { readonly ok: true; readonly encoded: string }
  | { readonly ok: false; readonly problems: readonly string[] };

/** The members of a service account's key. */
export const ACCOUNT_MEMBERS: readonly string[] = [
  'type',
  'project_id',
  'private_key_id',
  'private_key',
  'client_email',
  'client_id',
  'auth_uri',
  'token_uri',
  'auth_provider_x509_cert_url',
  'client_x509_cert_url',
  'universe_domain',
];

/** The keys of the section `[default]`. */
export const ACCESS_KEYS: readonly string[] = [
  'aws_access_key_id',
  'aws_secret_access_key',
  'region',
];

/** The storage of a bucket's address. */
export function storageOf(bucket: string): Storage {
  return bucket.startsWith('gs://') ? 'gs' : 's3';
}

/** Checks the text of a credentials file, and encodes it unchanged: standard base64. */
export function encodeCredentials(storage: Storage, text: string): Encoded {
  const problems = credentialsProblems(storage, text);
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, encoded: Buffer.from(text).toString('base64') };
}

/** Like `encodeCredentials`, but a text that is already encoded is checked and returned unchanged. */
export function readCredentials(storage: Storage, text: string): Encoded {
  const encoded = text.trim();
  const isEncoded = encoded !== '' && /^[A-Za-z\d+/]+={0,2}$/.test(encoded);
  if (!isEncoded) return encodeCredentials(storage, text);
  const decoded = Buffer.from(encoded, 'base64').toString();
  const problems = credentialsProblems(storage, decoded).map(one => `decoded from base64: ${one}`);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, encoded };
}

function credentialsProblems(storage: Storage, text: string): readonly string[] {
  if (text.trim() === '') return ['it is empty'];
  return storage === 'gs' ? accountProblems(text) : accessProblems(text);
}

function accountProblems(text: string): readonly string[] {
  const account = parseJson(text);
  if (!isObject(account))
    return [
      /^\s*\[/.test(text)
        ? 'expected the JSON of a service account, got a file with sections, as for s3'
        : 'expected the JSON of a service account, got no JSON object',
    ];
  return ACCOUNT_MEMBERS.flatMap(name => {
    const value = account[name];
    if (value === undefined) return [`the member ${name} is missing`];
    if (typeof value !== 'string') return [`the member ${name} is not a text`];
    return value.trim() === '' ? [`the member ${name} is empty`] : [];
  });
}

function accessProblems(text: string): readonly string[] {
  if (isObject(parseJson(text))) return ['expected a section [default], got JSON, as for gs'];
  const problems: string[] = [];
  const found = new Set<string>();
  let section: string | null = null;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const at = `line ${index + 1}`;
    const trimmed = line.trim();
    if (trimmed === '') continue;
    const [, header] = /^\[([^\]]*)\]$/.exec(trimmed) ?? [];
    const [, name = '', value = ''] = /^(\w+)\s*=\s*(.*)$/.exec(trimmed) ?? [];
    if (header !== undefined) {
      if (section !== null || header !== 'default')
        problems.push(`${at}: expected [default] alone`);
      section = header;
    } else if (section === null) problems.push(`${at}: expected [default] before anything else`);
    else if (!ACCESS_KEYS.includes(name))
      problems.push(`${at}: expected ${ACCESS_KEYS.join(', ')}`);
    else if (found.has(name)) problems.push(`${at}: ${name} is there twice`);
    else if (value === '') problems.push(`${at}: ${name} is empty`);
    found.add(name);
  }
  const missing = ACCESS_KEYS.filter(name => !found.has(name));
  return [...problems, ...missing.map(name => `the key ${name} is missing`)];
}
