// What docs/service-coverage.md claims holds: no section is left out, every row names tests and keys that exist.
// That files in code style exist is checked for all documents by test/docs.test.ts.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { keysByLevel } from '../../src/config/declare.ts';
import { CONFIG } from '../../src/config/keys.ts';
import { expectToExist, ROOT, testsNamed } from './named-tests.ts';

const document = readFileSync(join(ROOT, 'docs/service-coverage.md'), 'utf8');
const rows = [...document.matchAll(/^\| \*\*([\d.]+)[^*]*\*\* \|(.*)$/gm)].map(
  ([line, section = '', row = '']) => ({ line, section, row }),
);

/** Sections of the specification that state something about the service. */
const SECTIONS = '2.1 2.2 2.3 2.4 2.5 2.6 2.7 3 4 5 6 7 8 9'.split(' ');

const KEY = /`((?:api|metrics|logs|backups|otlp)\.[\w.]+)`/g;

describe('docs/service-coverage.md', () => {
  test('has a row for every section', () => {
    const there = new Set(rows.map(({ section }) => section));
    expect(SECTIONS.filter(section => !there.has(section))).toEqual([]);
  });

  test.each(rows)('names tests that exist: $line', ({ row }) => {
    const named = testsNamed(row);
    expect(named.length).toBeGreaterThan(0);
    expectToExist(named);
  });

  test('names keys of the configuration that exist', () => {
    const keys = new Set(
      [...keysByLevel(CONFIG)].flatMap(([level, names]) =>
        names.map(name => `${level}.${name}`.replace(/^\./, '')),
      ),
    );
    const named = [...document.matchAll(KEY)].map(([, key = '']) => key);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(key => !keys.has(key))).toEqual([]);
  });
});
