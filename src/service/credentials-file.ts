// The credentials of external storage (service-spec 2.6): the required members of a file, and its encoding. Problems
// name members and line numbers; they never repeat a value.

import { isObject, membersOf, parseJson } from '../lib/json.ts';

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

/** Shorter texts occur in ordinary words. */
const SECRET_LENGTH_MIN = 8;

/** The storage of a bucket's address. */
export function storageOf(bucket: string): Storage {
  return bucket.startsWith('gs://') ? 'gs' : 's3';
}

/**
 * Checks the text of a credentials file, and encodes the part that the service takes in standard base64: the unchanged
 * JSON of an account, or the section `[default]` of an INI file.
 */
export function encodeCredentials(storage: Storage, text: string): Encoded {
  const plain = text.replace(/^\uFEFF/, '');
  if (plain.trim() === '') return { ok: false, problems: ['it is empty'] };
  const read = storage === 'gs' ? { plain, problems: accountProblems(plain) } : readAccess(plain);
  if (read.problems.length > 0) return { ok: false, problems: read.problems };
  return { ok: true, encoded: Buffer.from(read.plain).toString('base64') };
}

/** Like `encodeCredentials`, but also takes a text that is already encoded, in one line or several. */
export function readCredentials(storage: Storage, text: string): Encoded {
  const encoded = text.replaceAll(/[\s\uFEFF]/g, '');
  if (!/^[A-Za-z\d+/]+={0,2}$/.test(encoded)) return encodeCredentials(storage, text);
  const read = encodeCredentials(storage, Buffer.from(encoded, 'base64').toString());
  if (read.ok) return read;
  return { ok: false, problems: read.problems.map(one => `decoded from base64: ${one}`) };
}

/** The secrets in encoded credentials: the encoded text, the keys in it, and each line of a long key. */
export function secretsIn(encoded: string = ''): readonly string[] {
  const text = Buffer.from(encoded, 'base64').toString();
  const { private_key: long, private_key_id: id } = membersOf(parseJson(text));
  const lines = typeof long === 'string' ? [long, ...long.split('\n')] : [];
  const access = [...text.matchAll(/^aws_\w+\s*=\s*(\S+)/gm)].map(([, value]) => value);
  const all = [encoded, ...lines, id, ...access].filter(one => typeof one === 'string');
  return all.filter(one => one.length >= SECRET_LENGTH_MIN && !one.startsWith('-----'));
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

/** `NAME = value`, as in an INI file or a script that sets variables. */
const ENTRY = /^(export\s+)?(\w+)\s*[=:]\s*(.*)$/;
/** The keys for variables that have other names. */
const KEY_OF_VARIABLE: Readonly<Record<string, string>> = {
  aws_region: 'region',
  aws_default_region: 'region',
};

/**
 * The section `[default]` with the keys that the service takes. Other sections, keys and comments are left out, because
 * they do not concern the service. A file that has none of them stays unchanged.
 */
function readAccess(text: string): {
  readonly plain: string;
  readonly problems: readonly string[];
} {
  if (isObject(parseJson(text)))
    return { plain: '', problems: ['expected a section [default], got JSON, as for gs'] };
  const problems: string[] = [];
  /** Problems of unknown keys, reported only if a key is missing, which may be misspelt here. */
  const unknown: string[] = [];
  const values = new Map<string, string>();
  let section: string | null = null;
  let isUnchanged = true;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const at = `line ${index + 1}`;
    const trimmed = line.trim();
    if (trimmed === '') continue;
    const [, header] = /^\[([^\]]*)\]\s*(?:[#;].*)?$/.exec(trimmed) ?? [];
    section = header?.trim() ?? section;
    if (trimmed === '[default]') continue;
    const [, exported, name = '', written = ''] = ENTRY.exec(trimmed) ?? [];
    const isVariable = exported !== undefined || name.startsWith('AWS_');
    if (isVariable) section ??= 'default';
    const key = KEY_OF_VARIABLE[name.toLowerCase()] ?? name.toLowerCase();
    const value = valueOf(written);
    isUnchanged &&= ACCESS_KEYS.includes(name) && /^\w+\s*=/.test(trimmed) && value === written;
    if (header !== undefined || /^[#;]/.test(trimmed)) continue;
    if (section === null) problems.push(`${at}: expected [default] before anything else`);
    if (section !== null && section !== 'default') continue;
    const isKnown = ACCESS_KEYS.includes(key);
    if (!isKnown)
      (name === '' ? problems : unknown).push(`${at}: expected ${ACCESS_KEYS.join(', ')}`);
    if (key === 'aws_session_token')
      problems.push(`${at}: the service takes no temporary credentials, which have an ${key}`);
    if (!isKnown) continue;
    if (values.has(key)) problems.push(`${at}: ${key} is there twice`);
    else if (value === '') problems.push(`${at}: ${key} is empty`);
    values.set(key, value);
  }
  if (values.size === 0 && problems.length === 0) problems.push('there is no section [default]');
  else {
    const missing = ACCESS_KEYS.filter(key => !values.has(key));
    if (missing.length > 0) problems.push(...unknown);
    problems.push(...missing.map(key => `the key ${key} is missing`));
  }
  const entries = ACCESS_KEYS.map(key => `${key} = ${values.get(key) ?? ''}\n`);
  return { plain: isUnchanged ? text : `[default]\n${entries.join('')}`, problems };
}

/** The value without quotes around it and without a comment after it. */
function valueOf(written: string): string {
  const bare = written.replace(/(?:^|\s+)[#;].*$/, '').trim();
  const [, , quoted] = /^(["'])(.*)\1$/.exec(bare) ?? [];
  return quoted ?? bare;
}
