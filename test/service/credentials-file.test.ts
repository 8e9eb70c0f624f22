import { describe, expect, test } from 'vitest';
import {
  ACCESS_KEYS,
  ACCOUNT_MEMBERS,
  encodeCredentials,
  readCredentials,
  secretsIn,
} from '../../src/service/credentials-file.ts';
import { expectWordings } from '../support/wordings.ts';

const ACCOUNT = Object.fromEntries(ACCOUNT_MEMBERS.map(name => [name, `the ${name}`]));
const ACCESS =
  '[default]\naws_access_key_id = AKIA\naws_secret_access_key=s/e+c=ret\nregion=eu-1\n';

const problemsOf = (storage: 's3' | 'gs', text: string): readonly string[] => {
  const encoded = encodeCredentials(storage, text);
  return encoded.ok ? [] : encoded.problems;
};

test('the unchanged file is encoded, in standard base64', () => {
  const account = JSON.stringify({ ...ACCOUNT, more: 1 }, null, 2);
  const cases = [
    ['gs', account],
    ['s3', ACCESS],
    ['s3', ACCESS.replaceAll('\n', '\r\n')],
  ] as const;
  for (const [storage, text] of cases) {
    const encoded = encodeCredentials(storage, text);
    if (!encoded.ok) throw new Error(encoded.problems.join());
    expect(encoded.encoded).toMatch(/^[A-Za-z\d+/]+={0,2}$/);
    expect(Buffer.from(encoded.encoded, 'base64').toString()).toBe(text);
  }
});

describe('the JSON of a service account', () => {
  test('needs each of its members, as a non-empty text', () => {
    for (const name of ACCOUNT_MEMBERS) {
      const { [name]: _, ...others } = ACCOUNT;
      expect(problemsOf('gs', JSON.stringify(others))).toEqual([`the member ${name} is missing`]);
      const empty = JSON.stringify({ ...ACCOUNT, [name]: ' ' });
      expect(problemsOf('gs', empty)).toEqual([`the member ${name} is empty`]);
      const number = JSON.stringify({ ...ACCOUNT, [name]: 7 });
      expect(problemsOf('gs', number)).toEqual([`the member ${name} is not a text`]);
    }
  });

  test.each([
    ['an access key', ACCESS],
    ['no JSON', '{"private_key": "canary'],
    ['nothing', ' \n'],
  ])('is distinguished from %s, without showing any of it', (what, text) => {
    const problems = problemsOf('gs', text);
    expect(problems.join()).not.toContain('canary');
    expectWordings(`credentials, gs: ${what}`, problems);
  });
});

describe('the INI text of an access key', () => {
  test('needs each of its keys, once and with a value', () => {
    for (const name of ACCESS_KEYS) {
      const without = ACCESS.replace(new RegExp(`^${name}.*\n`, 'm'), '');
      expect(problemsOf('s3', without)).toEqual([`the key ${name} is missing`]);
      const empty = ACCESS.replace(new RegExp(`^(${name} *=).*$`, 'm'), '$1');
      expect(problemsOf('s3', empty)).toEqual([expect.stringContaining(`${name} is empty`)]);
      const twice = `${ACCESS}${name}=again\n`;
      expect(problemsOf('s3', twice)).toEqual([`line 5: ${name} is there twice`]);
    }
  });

  test.each([
    ['another section', ACCESS.replace('[default]', '[prod]')],
    ['no section', ACCESS.replace('[default]\n', '')],
    ['a line that is no entry', `${ACCESS}canary\n`],
    ['temporary credentials', `${ACCESS}aws_session_token = canary\n`],
    ['a misspelt key', ACCESS.replace('access_key=', 'acess_key=')],
    ['a service account', JSON.stringify(ACCOUNT)],
  ])('has one section, and in it nothing that is no entry: %s', (what, text) => {
    const problems = problemsOf('s3', text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.join()).not.toContain('canary');
    expectWordings(`credentials, s3: ${what}`, problems);
  });

  const own = ACCESS.replaceAll(/ ?= ?/g, ' = ').replace('s/e+c = ret', 's/e+c=ret');
  test.each([
    ['comments', ACCESS.replaceAll('\n', '\n# one\n  ; two\n')],
    [
      'other sections, which are not sent',
      `[a]\nregion=x\n${ACCESS}[prod]\naws_access_key_id=canary\n-\n`,
    ],
    ['other keys', `${ACCESS}output = json\n`],
    ['quotes', ACCESS.replaceAll(/= ?(.*)$/gm, '= "$1"')],
    ['blanks, and comments at the end', ACCESS.replaceAll(/^(\w.*|\[.*)$/gm, '  $1  # why')],
    ['colons', ACCESS.replaceAll(/ ?=/g, ':').replace('c:ret', 'c=ret')],
    [
      'colons and capitals',
      ACCESS.replaceAll(/^(\w+) ?=/gm, (_, name: string) => `${name.toUpperCase()} :`),
    ],
    [
      'variables',
      ACCESS.replace('[default]\n', '#!/bin/sh\n')
        .replaceAll(
          /^(a\w+) ?= ?(.*)$/gm,
          (_, name: string, value: string) => `export ${name.toUpperCase()}='${value}'`,
        )
        .replace('region', 'export AWS_DEFAULT_REGION'),
    ],
  ])('may have %s', (_, text) => {
    expect(readCredentials('s3', text)).toEqual({
      ok: true,
      encoded: Buffer.from(own).toString('base64'),
    });
  });
});

test('an encoded file is checked and accepted unchanged', () => {
  const encoded = Buffer.from(ACCESS).toString('base64');
  expect(readCredentials('s3', `${encoded}\n`)).toEqual({ ok: true, encoded });
  expect(readCredentials('s3', ACCESS)).toEqual({ ok: true, encoded });
  for (const wrapped of [
    `\uFEFF${ACCESS}`,
    `\uFEFF${encoded}`,
    encoded.replaceAll(/.{20}/g, '$&\r\n'),
    encoded.replace(/=+$/, ''),
  ])
    expect(readCredentials('s3', wrapped)).toEqual({ ok: true, encoded });
  const account = JSON.stringify(ACCOUNT);
  const lines = Buffer.from(account).toString('base64').replaceAll(/.{76}/g, '$&\n');
  expect(readCredentials('gs', lines)).toEqual(encodeCredentials('gs', `\uFEFF${account}`));
  expect(readCredentials('gs', encoded)).toEqual({
    ok: false,
    problems: [expect.stringContaining('decoded from base64: expected the JSON')],
  });
});

test('what is secret in encoded credentials is known: keys, each line of them, and all of it', () => {
  const key = `-----BEGIN PRIVATE KEY-----\n${'a'.repeat(64)}\nshort\n-----END PRIVATE KEY-----\n`;
  const account = Buffer.from(JSON.stringify({ ...ACCOUNT, private_key: key })).toString('base64');
  expect(secretsIn(account)).toEqual([account, 'a'.repeat(64), 'the private_key_id']);
  const access = Buffer.from(ACCESS).toString('base64');
  expect(secretsIn(access)).toEqual([access, 's/e+c=ret']);
  expect(secretsIn()).toEqual([]);
});
