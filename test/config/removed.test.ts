// A configuration of an earlier commit stays readable: a removed key or value is a warning with its place and its
// replacement.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { canRead, kindAt } from '../../src/config/declare.ts';
import { CONFIG } from '../../src/config/keys.ts';
import { judgeFile, warningMistakes } from '../../src/config/load.ts';
import { type KeyPath, levelText, type YamlMap } from '../../src/config/paths.ts';
import { REMOVED, removedKeys, replaceRemoved } from '../../src/config/removed.ts';
import type { Place, Yaml } from '../../src/config/yaml.ts';
import { formatMistake } from '../../src/errors.ts';

const file = new URL('../fixtures/config/all-keys.old.yaml', import.meta.url).pathname;

/** A YAML whose places are the lengths of the paths. */
function yamlOf(root: YamlMap): Yaml<YamlMap> {
  const placeOf = (path: KeyPath): Place => ({ line: path.length, column: 0 });
  return { file: 'c.yaml', root, mistakes: [], placeOf };
}

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
        /all-keys\.old\.yaml:\d+:\d+: [\w.]+: the (?:key|value) .*(?:removed|moved).*; /,
      );
    expect(warningMistakes(found, false).map(formatMistake)).toEqual(
      expect.arrayContaining(warnings),
    );
  });

  test('warns of all keys and values that are gone, and of no other', () => {
    const all = keysIn(parse(readFileSync(file, 'utf8')), []);
    expect(all.length).toBeGreaterThan(120);
    const gone = REMOVED.filter(entry => {
      const parts = entry.path.split('.');
      const kind = kindAt(CONFIG, parts);
      if ('movedTo' in entry) return true;
      if ('was' in entry) return kind !== undefined && !canRead(kind, entry.was);
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
    { path: 'metrics.old.pause', movedTo: 'metrics.interval' },
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
    const { yaml, found } = replaceRemoved(yamlOf(given), table);
    expect(yaml.root).toEqual({ otlp: { ...given.otlp, protocol: 'grpc' } });
    expect(given.otlp.protocol).toBe('carrier-pigeon');
    expect(found).toEqual([
      {
        path: ['otlp', 'protocol'],
        problem: 'the value `carrier-pigeon` was removed, and counts as `grpc`',
        hint: 'write `grpc`',
      },
    ]);
  });

  test('moves a value to its new key, and mistakes in it stay at the old place', () => {
    const given = { metrics: { old: { pause: '5s' } } };
    const { yaml, found } = replaceRemoved(yamlOf(given), table);
    expect(yaml.root).toEqual({ metrics: { interval: '5s' } });
    expect(yaml.placeOf(['metrics', 'interval', 0])).toEqual({ line: 4, column: 0 });
    expect(found).toMatchObject([{ path: ['metrics', 'old', 'pause'], isAtKey: true }]);
    expect(found[0]?.problem).toContain('counts as `metrics.interval`');
  });

  test('lets the new key win where both are there', () => {
    const given = { metrics: { interval: '1m', old: { pause: '5s', more: 1 } } };
    const { yaml, found } = replaceRemoved(yamlOf(given), table);
    expect(yaml.root).toEqual({ metrics: { interval: '1m', old: { more: 1 } } });
    expect(found[0]?.problem).toBe('the key was removed, and `metrics.interval` counts');
  });

  test('leaves a block alone that is not there', () => {
    for (const given of [{}, { otlp: null }, { otlp: 'text' }])
      expect(replaceRemoved(yamlOf(given), table)).toMatchObject({
        yaml: { root: given },
        found: [],
      });
  });
});
