import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { ConfigSecret, expand, hasReference } from '../../src/config/secrets.ts';
import { useDirectory } from '../support/temporary-directory.ts';

const { path: directory } = useDirectory();

const files: Record<string, string> = { '/base/key': 'k1\n', '/abs': 'a\r\n\n', '/base/nl': '\n' };
const sources = {
  directory: '/base',
  environment: { NAME: 'value', EMPTY: '', RECURSIVE: '${env:NAME}' },
  readFile: (path: string) => {
    const text = files[path];
    return text === undefined ? { problem: 'there is no such file' } : { text };
  },
};

describe('references', () => {
  test.each([
    ['${env:NAME}', 'value'],
    ['a${env:NAME}b${env:NAME}c', 'avaluebvaluec'],
    ['${env:EMPTY}', ''],
    ['${file:key}', 'k1'],
    ['${file:/abs}', 'a'],
    ['${file:../abs}', 'a'],
    ['${file:nl}', ''],
    ['${env:RECURSIVE}', '${env:NAME}'],
    ['$${env:NAME}$', '$value$'],
    ['$NAME ${NAME} $$ ${ENV:NAME} ${env:NAME', '$NAME ${NAME} $$ ${ENV:NAME} ${env:NAME'],
    ['', ''],
  ])('are replaced everywhere, once, and every other dollar stays: %s', (template, text) => {
    expect(expand(template, sources)).toEqual({ text });
  });

  test.each([
    ['${env:X}', 'cannot read ${env:X}: the variable is not set'],
    ['${env:toString}', 'cannot read ${env:toString}: the variable is not set'],
    ['${env:}', 'cannot read ${env:}: it names no variable'],
    ['${file:}', 'cannot read ${file:}: it names no file'],
    [
      '${env:X}${env:NAME}${file:none}',
      'cannot read ${env:X}: the variable is not set',
      'cannot read ${file:none}: there is no such file',
    ],
  ])('that cannot be read are reported one by one: %s', (template = '', ...problems) => {
    expect(expand(template, sources)).toEqual({ problems });
  });

  test('are distinguished from other dollars', () => {
    expect(hasReference('a ${file:x}')).toBe(true);
    expect(hasReference('${env:x}')).toBe(true);
    expect(hasReference('${x} $env')).toBe(false);
  });
});

describe('a secret', () => {
  test('never appears in any output', () => {
    const secret = new ConfigSecret('hunter2');
    const check = (shown: string): void => {
      expect(shown).toContain('[secret]');
      expect(shown).not.toContain('hunter2');
    };
    check(secret.toString());
    check(String(secret));
    check(JSON.stringify({ secret }));
    check(inspect(secret));
    check(inspect({ deep: [{ secret }] }, { depth: 9, showHidden: true }));
    expect(secret.reveal()).toBe('hunter2');
    expect(Object.keys(secret)).toEqual([]);
  });

  test('does not change without a source', () => {
    expect(new ConfigSecret('a').refresh()).toBe(false);
  });
});

function load(keyText: string, environment: Record<string, string>): Config {
  const text = `api: {base_url: 'https://a', key: '${keyText}'}\nservices: [{id: x}, {id: y}]\n`;
  return parseConfig(text, { file: join(directory, 'c.yaml'), environment });
}

describe('refresh', () => {
  test('reads the file again, and keeps the old text while the new one is unusable', () => {
    const path = join(directory, 'key');
    writeFileSync(path, 'one\n');
    const key = load('Bearer ${file:key}', {}).services[0]?.api.key;
    const check = (isChanged: boolean, text: string): void => {
      expect(key?.refresh()).toBe(isChanged);
      expect(key?.reveal()).toBe(text);
    };
    check(false, 'Bearer one');
    writeFileSync(path, 'two');
    check(true, 'Bearer two');
    writeFileSync(path, 'line\nbreak');
    check(false, 'Bearer two');
    rmSync(path);
    check(false, 'Bearer two');
    writeFileSync(path, 'three\n');
    check(true, 'Bearer three');
  });

  test('reads the variable again, once for all services', () => {
    const environment = { KEY: 'one' };
    const [first, second] = load('${env:KEY}', environment).services;
    environment.KEY = 'two';
    expect(first?.api.key.refresh()).toBe(true);
    expect(second?.api.key.reveal()).toBe('two');
  });
});
