// A configuration of an earlier commit stays readable: a deprecated key or value works as its replacement, and
// is a warning with its place.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { canRead, kindAt } from '../../src/config/declare.ts';
import { CONFIG } from '../../src/config/keys.ts';
import { judgeFile, parseConfig, warningMistakes } from '../../src/config/load.ts';
import { type KeyPath, levelText, type YamlMap } from '../../src/config/paths.ts';
import { DEPRECATED, replaceDeprecated } from '../../src/config/deprecated.ts';
import { fixText } from '../../src/config/yaml-edit.ts';
import { ExpandedText } from '../../src/config/secrets.ts';
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

  test('loads, and each deprecated key is a warning with its place and what to do', () => {
    expect(found.config.services.map(({ id }) => id)).toEqual(['dbpgf12345678']);
    for (const warning of warnings)
      expect(warning).toMatch(
        /all-keys\.old\.yaml:\d+:\d+: [\w.]+: .*since 0\.2\.0.*; .*`prom2otlp check --fix`/,
      );
    expect(warningMistakes(found, false).map(formatMistake)).toEqual(
      expect.arrayContaining(warnings),
    );
  });

  test('warns of all keys and values that are gone, and of no other', () => {
    const all = keysIn(parse(readFileSync(file, 'utf8')), []);
    expect(all.length).toBeGreaterThan(120);
    const gone = DEPRECATED.filter(entry => {
      const parts = entry.path.split('.');
      const kind = kindAt(CONFIG, parts);
      if ('replacedBy' in entry) return true;
      if ('values' in entry)
        return kind !== undefined && !Object.keys(entry.values).some(value => canRead(kind, value));
      return kind === undefined && kindAt(CONFIG, parts.slice(0, -1)) !== undefined;
    });
    const told = found.config.warnings.map(({ key = '' }) => key);
    expect(told.toSorted()).toEqual(gone.map(({ path }) => path).toSorted());
  });
});

describe('a table of deprecated keys', () => {
  const since = '0.2.0';
  const table = [
    { path: 'services[].api.colour', since, replacedBy: 'services[].api.color' },
    { path: 'services[].api.size', since, unused: 'sizes are gone' },
    { path: 'otlp.protocol', since, values: { 'carrier-pigeon': 'grpc' } },
    { path: 'otlp.temporality', since, values: { delta: 'cumulative' } },
    { path: 'metrics.old.pause', since, replacedBy: 'metrics.interval', values: { short: '5s' } },
  ];

  test('replaces keys in each entry of a list', () => {
    const given = { services: [{ id: 'a' }, { id: 'b', api: { colour: 'red', size: 1 } }] };
    const { yaml, warnings } = replaceDeprecated(yamlOf(given), table);
    expect(yaml.root).toEqual({ services: [{ id: 'a' }, { id: 'b', api: { color: 'red' } }] });
    expect(warnings).toEqual([
      {
        path: ['services', 1, 'api', 'colour'],
        isAtKey: true,
        problem: 'deprecated since 0.2.0',
        hint: 'use `services[1].api.color`; `prom2otlp check --fix` rewrites it',
      },
      {
        path: ['services', 1, 'api', 'size'],
        isAtKey: true,
        problem: 'no effect since 0.2.0: sizes are gone',
        hint: 'remove it, as `prom2otlp check --fix` does',
      },
    ]);
  });

  test('replaces a value that is no longer legal, and only that', () => {
    const given = { otlp: { protocol: 'carrier-pigeon', temporality: 'delta', timeout: '1s' } };
    const { yaml, warnings } = replaceDeprecated(yamlOf(given), table);
    expect(yaml.root).toEqual({ otlp: { ...given.otlp, protocol: 'grpc' } });
    expect(given.otlp.protocol).toBe('carrier-pigeon');
    expect(warnings).toEqual([
      {
        path: ['otlp', 'protocol'],
        problem: 'the value `carrier-pigeon` is deprecated since 0.2.0',
        hint: 'use `grpc`; `prom2otlp check --fix` rewrites it',
      },
    ]);
  });

  test('does not promise to rewrite a value that comes from a reference', () => {
    const protocol = new ExpandedText('${env:P}', 'carrier-pigeon', () => ({ text: '' }));
    const { yaml, warnings } = replaceDeprecated(yamlOf({ otlp: { protocol } }), table);
    expect(yaml.root).toEqual({ otlp: { protocol: 'grpc' } });
    expect(warnings.map(({ hint }) => hint)).toEqual(['use `grpc`']);
  });

  test('moves a value to its new key, and mistakes in it stay at the old place', () => {
    const given = { metrics: { old: { pause: 'short' } } };
    const { yaml, warnings } = replaceDeprecated(yamlOf(given), table);
    expect(yaml.root).toEqual({ metrics: { interval: '5s' } });
    expect(yaml.placeOf(['metrics', 'interval', 0])).toEqual({ line: 4, column: 0 });
    expect(warnings).toMatchObject([{ path: ['metrics', 'old', 'pause'], isAtKey: true }]);
    expect(warnings[0]?.hint).toContain('use `metrics.interval: 5s`');
  });

  test('makes both spellings of a key a mistake', () => {
    const given = { metrics: { interval: '1m', old: { pause: '5s', more: 1 } } };
    const { yaml, warnings, mistakes } = replaceDeprecated(yamlOf(given), table);
    expect(yaml.root).toEqual({ metrics: { interval: '1m', old: { more: 1 } } });
    expect(warnings).toEqual([]);
    expect(mistakes).toMatchObject([{ path: ['metrics', 'old', 'pause'] }]);
    expect(mistakes[0]?.problem).toContain('`metrics.interval`, which line 2 has too');
  });

  test('leaves a block alone that is not there', () => {
    for (const given of [{}, { otlp: null }, { otlp: 'text' }, { services: 'auto' }])
      expect(replaceDeprecated(yamlOf(given), table)).toMatchObject({
        yaml: { root: given },
        warnings: [],
        mistakes: [],
      });
  });
});

describe('the text of a file', () => {
  const table = [
    { path: 'metrics.old.pause', since: '0.2.0', replacedBy: 'metrics.new.interval' },
    { path: 'a.b', since: '0.2.0', replacedBy: 'c.d' },
    { path: 'services[].api.colour', since: '0.2.0', replacedBy: 'services[].api.color' },
    { path: 'whole', since: '0.2.0', replacedBy: 'c.whole' },
    { path: 'gone', since: '0.2.0', unused: 'nobody wants it' },
  ];
  const cases: readonly (readonly [name: string, old: string, fixed: string])[] = [
    [
      'a new name in the same block',
      'services:\n  - api: {colour: r} # c\n',
      'services:\n  - api: {color: r} # c\n',
    ],
    [
      'a block of its own',
      'metrics:\n  # a\n  old: # b\n    # c\n    pause: 5s   # d\n',
      'metrics:\n  new:\n    # a\n    # b\n    # c\n    interval: 5s   # d\n',
    ],
    [
      'another block',
      'a:\n  # why\n  b: 1\n  e: 2\nc:\n    f: 1',
      'a:\n  e: 2\nc:\n    f: 1\n    # why\n    d: 1\n',
    ],
    ['from braces', 'a: {b: 1, e: 2} # a\nc:\n  f: 1\n', 'a: {e: 2} # a\nc:\n  f: 1\n  d: 1\n'],
    ['within braces', '{a: {e: 2, b: "1"}, c: {f: 1}}', '{a: {e: 2}, c: {f: 1, d: "1"}}'],
    [
      'a value of many lines',
      'whole:\n  x: |\n    a\n\n    b\n  y: 1\nc:\n  d: 1\n',
      'c:\n  d: 1\n  whole:\n    x: |\n      a\n\n      b\n    y: 1\n',
    ],
    [
      'lines of Windows',
      'a:\r\n  b: 1\r\n  e: 2\r\nc:\r\n  f: 1\r\n',
      'a:\r\n  e: 2\r\nc:\r\n  f: 1\r\n  d: 1\r\n',
    ],
    ['a key without effect', 'x: 1\n# why\ngone: 5 # now\ny: 2\n', 'x: 1\n# why\n# now\ny: 2\n'],
    ['a key in quotes', '"gone": {a: [1, 2]}\ny: 2\n', 'y: 2\n'],
    ['JSON', '{"a":{"b":"1"},"c":{"f":1}}', '{"c":{"f":1, "d":"1"}}'],
    ['a byte order mark', '\uFEFFgone: 5\nc: {}\n', '\uFEFFc: {}\n'],
    [
      'more aliases than the parser takes by itself',
      `api: &a {k: 1}\nall: [${'*a, '.repeat(200)}]\ngone: 5\n`,
      `api: &a {k: 1}\nall: [${'*a, '.repeat(200)}]\n`,
    ],
    [
      'comments within braces that go',
      'metrics:\n  old: { # a\n    pause: 5s, # b\n  } # c\n',
      'metrics:\n  new:\n    # a\n    # b\n    interval: 5s # c\n',
    ],
  ];

  test.each(cases)('%s', (_, old, fixed) => {
    expect(fixText(old, table)).toMatchObject({ text: fixed, left: [] });
  });

  test.each([
    ['an anchor that is used', 'gone: &g 1\ny: *g\n', 'gone'],
    ['a block in place of braces', 'a:\n  b: 1\n  e: 2\nc: {f: 1}\n', 'a.b'],
    ['an explicit key', '? gone\n: 1\n', 'gone'],
    ['braces with a comment behind', '{\n  gone: 1, # a\n  y: 2, # b\n}\n', 'gone'],
    ['braces with a comment before', '{\n  y: 2, # b\n  gone: 1 # a\n}\n', 'gone'],
    ['braces with a comment that would move', '{\n  c: {f: 1}, # c\n  a: {b: 1}\n}\n', 'a.b'],
  ])('%s stays as it is', (_, old, key) => {
    expect(fixText(old, table)).toEqual({ text: old, changes: [], left: [key] });
  });

  test('keeps a block while one of its keys has to move', () => {
    const old = 'a: &a\n  b: 1\nz: *a\nc: {}\n';
    const whole = [...table, { path: 'a', since: '0.2.0', unused: 'the rest of it' }];
    expect(fixText(old, whole)).toEqual({ text: old, changes: [], left: ['a.b', 'a'] });
  });

  test('no longer has a warning, and the same values, in a file with every old key', () => {
    const text = readFileSync(file, 'utf8');
    const fixed = fixText(text);
    const load = (one: string) => parseConfig(one, { file, environment: {} });
    const [before, after] = [load(text), load(fixed.text)];
    expect(fixed.left).toEqual([]);
    expect(after.warnings).toEqual([]);
    expect(JSON.stringify({ ...after, warnings: [] })).toBe(
      JSON.stringify({ ...before, warnings: [] }),
    );
    expect(fixText(fixed.text).changes).toEqual([]);
    const lines = new Set(text.split('\n'));
    expect(fixed.text.split('\n').filter(line => !lines.has(line))).toEqual([
      '  day_close_grace: 6h',
      '  compression: gzip',
    ]);
  });
});
