// Generates the files that depend on the keys of the configuration (src/config/keys.ts): the example, the JSON Schema,
// also within that of the chart's values, and the table of keys. Run it after a change of a key:
// `node tools/config-schema.ts`. A test compares the files.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { schemaText } from '../src/cli/schema.ts';
import { isBlock, wordsOf, type AnyBlock, type Key, type Kind } from '../src/config/declare.ts';
import { CONFIG } from '../src/config/keys.ts';

/** The generated content of each file, by its path relative to the root. */
export function generatedFiles(): Readonly<Record<string, string>> {
  return {
    'config/prom2otlp.example.yaml': exampleText(),
    'config/schema.json': `${schemaText()}\n`,
    'docs/use/configuration.md': tableText(),
    [VALUES]: valuesText(),
  };
}

const VALUES = 'deploy/helm/values.schema.json';

/** The schema of the chart's values, with that of the configuration inside. The templates say what is missing there. */
function valuesText(): string {
  const values = JSON.parse(readFileSync(pathOf(VALUES), 'utf8')) as { properties: object };
  const schema = Object.entries(JSON.parse(schemaText()) as object);
  const own = schema.filter(([name]) => !['$schema', '$id', 'required'].includes(name));
  const properties = { ...values.properties, config: Object.fromEntries(own) as object };
  return `${JSON.stringify({ ...values, properties }, null, 2)}\n`;
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(`../${file}`, import.meta.url));
}

function keysOf(block: AnyBlock): readonly Key<unknown>[] {
  return Object.values(block.keys);
}

// The example.

const EXAMPLE_HEAD = `# yaml-language-server: $schema=./schema.json
#
# Every key of prom2otlp with its default. You need only a few keys: see minimal.yaml. Copy the keys that you want to
# change, and leave out the rest. A key that you leave out has the value shown here.
#
# Durations have a unit: 500ms, 10s, 5m, 72h, 1d. Sizes have one, too: 4kB is 4000 bytes, 4KiB is 4096.
# In any value, the content of the file replaces \${file:/path}, and the environment variable replaces \${env:NAME}.
# Any other $ is an ordinary dollar sign. Within { } or [ ], put such a value in quotes.
# Relative paths start at the directory of this file.
#
# \`prom2otlp check --config FILE\` reads the file and names every mistake with its line and column.
# This file is written by tools/config-schema.ts.
`;

const WIDTH = 116;

function exampleText(): string {
  return `${EXAMPLE_HEAD}\n${blockLines(CONFIG, '').join('\n')}\n`;
}

/** The keys of a block: a table without blank lines if each key fits on one line with its comment. */
function blockLines(block: AnyBlock, indent: string): string[] {
  const keys = keysOf(block);
  const comments = keys.map(wordsOf);
  const short = keys.map(key => shortLine(key, indent));
  const column = 3 + Math.max(...short.map(line => line?.length ?? 0));
  const isTable = short.every(
    (line, index) => line !== null && column + (comments[index]?.length ?? 0) <= WIDTH,
  );
  if (isTable && keys.length > 1)
    return short.map((line, index) => {
      const comment = sentence(comments[index] ?? '');
      return comment === '' ? (line ?? '') : `${(line ?? '').padEnd(column)}# ${comment}`;
    });
  return keys.flatMap((key, index) => [
    ...(index === 0 ? [] : ['']),
    ...wrap(wordsOf(key), `${indent}# `, WIDTH),
    ...keyLines(key, indent),
  ]);
}

/** The comment beside a key in a table: without the first capital and the last full stop. */
function sentence(about: string): string {
  return about.replace(/^([A-Z])(?=[a-z' ])/, letter => letter.toLowerCase()).replace(/\.$/, '');
}

function shortLine(key: Key<unknown>, indent: string): string | null {
  return isShownAsBlock(key) ? null : `${indent}${key.name}: ${flow(key.example)}`;
}

/** A block that is null by default is shown as that. */
function isShownAsBlock({ kind, example }: Key<unknown>): boolean {
  return isBlock(kind) && example !== null;
}

function keyLines(key: Key<unknown>, indent: string): string[] {
  const { name, kind, example } = key;
  if (isBlock(kind) && isShownAsBlock(key)) {
    const isEmpty = keysOf(kind).every(({ presence }) => presence === 'optional');
    if (isEmpty) return [`${indent}${name}: {}`];
    return [`${indent}${name}:`, ...blockLines(kind, `${indent}  `)];
  }
  const { element } = kind;
  if (element !== undefined && isBlock(element) && Array.isArray(example) && example.length > 0) {
    const lines = blockLines(element, `${indent}    `);
    const first = lines.findIndex(line => !line.trim().startsWith('#'));
    lines[first] = `${indent}  - ${lines[first]?.trim() ?? ''}`;
    return [`${indent}${name}:`, ...lines];
  }
  if (typeof example === 'object' && example !== null && !Array.isArray(example)) {
    const entries = Object.entries(example);
    if (entries.length > 0)
      return [
        `${indent}${name}:`,
        ...entries.map(([key, value]) => `${indent}  ${key}: ${flow(value)}`),
      ];
  }
  return [`${indent}${name}: ${flow(example)}`];
}

function flow(value: unknown): string {
  // A reference alone needs no quotes.
  if (typeof value === 'string' && /^\$\{[\w:/.-]+\}$/.test(value)) return value;
  const options = { collectionStyle: 'flow', flowCollectionPadding: false, lineWidth: 0 } as const;
  return stringify(value, options).trim();
}

// The table of keys.

const TABLE_HEAD = `# The keys of the configuration

\`tools/config-schema.ts\` generates this page from the declarations of the keys in \`src/config/keys.ts\`.
[config/prom2otlp.example.yaml](../../config/prom2otlp.example.yaml) shows the keys as a file.
A key without a default is optional unless its text says that it is required.

The file is YAML 1.2. Anchors and aliases work for whole values (\`&name\`, \`*name\`). Merge keys (\`<<:\`) are not supported: they are not part of
YAML 1.2, and a mistake in merged keys has no place in the file. Tags (\`!name\`) and several documents are not supported either.

Until version 1.0, a key or value that an earlier version had is a warning that names its replacement, not a mistake.

To let an editor check the file while you write, run \`prom2otlp schema > schema.json\` and begin the file with the line
\`# yaml-language-server: $schema=schema.json\`.
`;

function tableText(): string {
  const sections = keysOf(CONFIG).map(key => {
    const members = rowsOf(key.kind, key.name);
    const rows = members.length === 0 ? [row(key, key.name)] : members;
    const about = members.length === 0 ? '' : `${wordsOf(key)}\n\n`;
    const head = '| key | value | default | meaning |\n|---|---|---|---|';
    return `## \`${key.name}\`\n\n${about}${head}\n${rows.join('\n')}\n`;
  });
  return `${TABLE_HEAD}\n${sections.join('\n')}`;
}

function rowsOf(kind: Kind<unknown>, path: string): string[] {
  if (kind.element !== undefined) {
    const instead = kind.instead === undefined ? [] : rowsOf(kind.instead, path);
    return [...rowsOf(kind.element, `${path}[]`), ...instead];
  }
  if (!isBlock(kind)) return [];
  return keysOf(kind).flatMap(key => {
    const own = `${path}.${key.name}`;
    return [row(key, own), ...rowsOf(key.kind, own)];
  });
}

function row(key: Key<unknown>, path: string): string {
  const value = key.kind.expected.replace(/^an? /, '').replace(/ such as .*/, '');
  const usual = key.default !== undefined ? `\`${flow(key.default)}\`` : '';
  const cells = [`\`${path}\``, value, usual, wordsOf(key)].map(cell =>
    cell.replaceAll('|', '\\|'),
  );
  return `| ${cells.join(' | ')} |`;
}

/** Breaks a text into lines of at most `width`. A longer word gets its own line. */
function wrap(text: string, indent: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter(word => word !== '')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > width) {
      lines.push(indent + line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, indent + line];
}

if (import.meta.main)
  for (const [file, text] of Object.entries(generatedFiles())) writeFileSync(pathOf(file), text);
