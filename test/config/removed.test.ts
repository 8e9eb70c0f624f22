// A configuration of an earlier commit stays readable: a removed key or value is a warning with its place and its
// replacement.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { isUnreadableBy, kindAt } from '../../src/config/declare.ts';
import { CONFIG } from '../../src/config/keys.ts';
import { judgeFile, warningMistakes } from '../../src/config/load.ts';
import { levelText } from '../../src/config/paths.ts';
import { REMOVED, removedKeys, replaceRemoved } from '../../src/config/removed.ts';
import { formatMistake } from '../../src/errors.ts';

const file = new URL('../fixtures/config/all-keys.old.yaml', import.meta.url).pathname;

/** The paths of all keys of a map, with any index as `[]`. */
function keysIn(value: unknown, path: readonly PropertyKey[]): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => {
    const inner = [...path, Array.isArray(value) ? Number(name) : name];
    return [levelText(inner), ...keysIn(one, inner)];
  });
}

describe('a file with every key of an earlier commit', () => {
  const found = judgeFile({ file, environment: {} });
  const warnings = found.config.warnings.map(formatMistake);

  test('loads, and each removed key is a warning with its place and what to do', () => {
    expect(found.config.services.map(({ id }) => id)).toEqual(['dbpgf12345678']);
    for (const warning of warnings)
      expect(warning).toMatch(
        /all-keys\.old\.yaml:\d+:\d+: [\w.]+: the (?:key|value) .*removed.*; /,
      );
    expect(warningMistakes(found, false).map(formatMistake)).toEqual(
      expect.arrayContaining(warnings),
    );
  });

  test('warns of all keys and values that are gone, and of no other', () => {
    const all = keysIn(parse(readFileSync(file, 'utf8')), []);
    expect(all.length).toBeGreaterThan(120);
    const gone = REMOVED.filter(({ path, was }) => {
      const parts = path.split('.');
      const kind = kindAt(CONFIG, parts);
      if (was !== undefined) return kind !== undefined && isUnreadableBy(kind, was);
      return kind === undefined && kindAt(CONFIG, parts.slice(0, -1)) !== undefined;
    });
    const told = found.config.warnings.map(({ key = '' }) => key);
    expect(told.toSorted()).toEqual(gone.map(({ path }) => path).toSorted());
  });
});

describe('a table of removed keys', () => {
  const table = [
    { path: 'services[].api.colour', use: 'remove it' },
    { path: 'otlp.protocol', was: 'carrier-pigeon', use: 'grpc' },
    { path: 'otlp.temporality', was: 'delta', use: 'cumulative' },
  ];

  test('makes a violation of an unknown key a warning, in any entry of a list', () => {
    const unknown = { problem: 'unknown key', isUnknownKey: true, isAtKey: true } as const;
    const old = { ...unknown, path: ['services', 3, 'api', 'colour'] };
    const other = { ...unknown, path: ['services', 3, 'api', 'color'] };
    const { removed, others } = removedKeys([old, other], table);
    expect(others).toEqual([other]);
    expect(removed).toEqual([
      { path: old.path, isAtKey: true, problem: expect.any(String), hint: 'remove it' },
    ]);
  });

  test('replaces a value that is no longer legal, and only that', () => {
    const given = { otlp: { protocol: 'carrier-pigeon', temporality: 'delta', timeout: '1s' } };
    const { root, found } = replaceRemoved(given, table);
    expect(root).toEqual({ otlp: { ...given.otlp, protocol: 'grpc' } });
    expect(given.otlp.protocol).toBe('carrier-pigeon');
    expect(found).toEqual([
      {
        path: ['otlp', 'protocol'],
        problem: 'the value `carrier-pigeon` was removed, and counts as `grpc`',
        hint: 'write `grpc`',
      },
    ]);
  });

  test('leaves a block alone that is not there', () => {
    for (const given of [{}, { otlp: null }, { otlp: 'text' }])
      expect(replaceRemoved(given, table)).toEqual({ root: given, found: [] });
  });
});
