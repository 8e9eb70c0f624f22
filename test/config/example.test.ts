// The files that follow from the declared keys: they are as tools/config-schema.ts writes them, the example shows every
// key with its true default, and the JSON Schema accepts and refuses the same texts as the program.

import { globSync, readFileSync, readdirSync } from 'node:fs';
import { isScalar, parseDocument, visit } from 'yaml';
import * as z from 'zod';
import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { keysByLevel } from '../../src/config/declare.ts';
import { CONFIG } from '../../src/config/keys.ts';
import { parseConfig } from '../../src/config/load.ts';
import { verb } from '../../src/cli/schema.ts';
import { generatedFiles } from '../../tools/config-schema.ts';
import { callVerb } from '../support/verb-context.ts';

/** A node of the JSON Schema, with the members that the tests read. */
interface JsonSchemaNode {
  readonly properties?: Readonly<Record<string, JsonSchemaNode>>;
  readonly items?: JsonSchemaNode;
  readonly [keyword: string]: unknown;
}

const root = new URL('../../', import.meta.url);
const read = (name: string): string => readFileSync(new URL(`config/${name}`, root), 'utf8');
const fixtures = new URL('../fixtures/config/', import.meta.url);
const example = read('prom2otlp.example.yaml');
const minimal = read('minimal.yaml');

function parse(text: string): Config {
  const readFile = (path: string): { text: string } => ({ text: `content of ${path}` });
  return parseConfig(text, { file: 'config/x.yaml', environment: {}, readFile });
}

/** Plain data in which regular expressions can be compared; secrets are `[secret]`. */
function plain(config: object): unknown {
  return JSON.parse(
    JSON.stringify(config, (_, value: unknown) => (value instanceof RegExp ? value.source : value)),
  );
}

test.each(Object.entries(generatedFiles()))(
  '%s is current (`node tools/config-schema.ts` writes it)',
  (file, text) => {
    expect(readFileSync(new URL(file, root), 'utf8')).toBe(text);
  },
);

describe('the example', () => {
  test('gives exactly the defaults', () => {
    const { services: shown, ...rest } = parse(example);
    const { services: least, ...defaults } = parse(minimal);
    expect(plain(rest)).toEqual(plain(defaults));
    expect(plain(shown[0]?.api ?? {})).toEqual(plain(least[0]?.api ?? {}));
    expect(shown).toHaveLength(1);
  });

  test('has every key', () => {
    const shown = new Set<string>();
    visit(parseDocument(example), {
      Pair: (_, pair, path) => {
        const keys = [...path, pair].flatMap(node =>
          'key' in node && isScalar(node.key) ? [String(node.key.value)] : [],
        );
        shown.add(keys.join('.'));
      },
    });
    // The example lists its services; docs/use/configuration.md describes `auto`, which replaces the list, and the ways of `otlp.auth`.
    const optional = /^(?:services\.(?:api\.|auto\b)|metrics\.(?:overrides|rename)\.|otlp\.auth\.)/;
    const missing = [...keysByLevel(CONFIG)]
      .flatMap(([level, keys]) => keys.map(key => `${level}.${key}`))
      .map(path => path.replaceAll('[]', '').replace(/^\./, ''))
      .filter(path => !optional.test(path) && !shown.has(path));
    expect(missing).toEqual([]);
  });

  test('explains every block before it begins', () => {
    const lines = example.split('\n');
    const blocks = lines.flatMap((line, i) => (/^\w+:/.test(line) ? [[line, lines[i - 1]]] : []));
    expect(blocks.length).toBe(Object.keys(CONFIG.keys).length);
    expect(blocks.filter(([, before]) => before?.startsWith('#') !== true)).toEqual([]);
  });

  test.each(globSync(['config/*.yaml', 'deploy/**/prom2otlp.yaml'], { cwd: root }))(
    '%s names its schema for editors',
    file => {
      const [first = ''] = readFileSync(new URL(file, root), 'utf8').split('\n');
      const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)$/.exec(first) ?? [];
      expect(new URL(schema, new URL(file, root)).href).toBe(
        new URL('config/schema.json', root).href,
      );
    },
  );
});

describe('the JSON Schema', () => {
  const schema = JSON.parse(read('schema.json')) as JsonSchemaNode;

  test('has the default of every key that the example shows', () => {
    const check = (shown: unknown, node: JsonSchemaNode | undefined, path: string): void => {
      const { properties } = node ?? {};
      if (properties === undefined || typeof shown !== 'object' || shown === null) {
        expect(node?.['default'], path).toEqual(shown);
        return;
      }
      for (const [key, value] of Object.entries(shown))
        check(value, properties[key], path === '' ? key : `${path}.${key}`);
    };
    const shown = parseDocument(example).toJS() as Record<string, Record<string, unknown>>;
    delete shown['services'];
    for (const required of ['base_url', 'key']) delete shown['api']?.[required];
    check(shown, schema, '');
  });

  test('is what `prom2otlp schema` prints', async () => {
    const { out } = await callVerb(verb, []);
    expect(out).toBe(read('schema.json'));
    expect(schema['$id']).toBe('urn:prom2otlp:configuration');
  });

  test('describes every key', () => {
    const bare: string[] = [];
    const walk = (node: JsonSchemaNode, path: string): void => {
      if (node.items !== undefined) walk(node.items, path);
      for (const [key, child] of Object.entries(node.properties ?? {})) {
        const isNamedByItself = /endpoints\.(?:parameters|pointers)$/.test(path);
        if (child['description'] === undefined && !isNamedByItself) bare.push(`${path}.${key}`);
        walk(child, `${path}.${key}`);
      }
    };
    walk(schema, '');
    expect(bare).toEqual([]);
  });

  const goodFiles = readdirSync(fixtures).filter(name => name.endsWith('.good.yaml'));

  test.each(goodFiles)('accepts %s', name => {
    const text = readFileSync(new URL(name, fixtures), 'utf8');
    const result = z.fromJSONSchema(schema).safeParse(parseDocument(text).toJS());
    expect(result.error?.issues).toBeUndefined();
  });

  test.each([
    [example, true],
    [minimal, true],
    [`${minimal}metrics: {interval: 5m, enabled: "\${env:X}"}`, true],
    [`${minimal}metrics: {interval: 5}`, false],
    [`${minimal}metrics: {intervall: 5m}`, false],
    [`${minimal}log: {level: loud}`, false],
    [minimal.replace('services', 'service'), false],
  ])('accepts the example and refuses the mistakes that the program refuses: %#', (...row) => {
    const [text, isLegal] = row;
    const result = z.fromJSONSchema(schema).safeParse(parseDocument(text).toJS());
    expect(result.success, text.slice(-60)).toBe(isLegal);
  });
});
