// Any text gives a Config or an OperatorError, never anything else, and every mistake has its place.

import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { OperatorError } from '../../src/errors.ts';
import { mistakesOf } from '../support/mistakes.ts';

const example = readFileSync(
  new URL('../../config/prom2otlp.example.yaml', import.meta.url),
  'utf8',
);
/** The example without comments, so that most mutations hit a key or a value. */
const text = example.replaceAll(/^ *#.*\n|\n(?=\n)| +#.*$/gm, '');

function check(text: string): void {
  const readFile = (): { text: string } => ({ text: 'x' });
  const options = { file: 'c.yaml', environment: { NAME: 'x' }, readFile };
  for (const { message, line, column } of mistakesOf(() => parseConfig(text, options))) {
    expect(message).not.toMatch(/Invalid input|undefined|\[object/);
    if (message.startsWith('and ')) continue;
    expect(line).toBeGreaterThan(0);
    expect(column).toBeGreaterThan(0);
  }
}

/** Characters that have a meaning in YAML or in the configuration. */
const MARKS = '\t \n : - { } [ ] " \' > # ? ~ \r \u0000 \uFEFF'.split(' ');
const BEGINNINGS = ['  ', ': ', '- ', '? ', '&a ', '*a', '!t ', '|\n', '---\n', '%YAML 1.1\n'];
const TEXTS = ['${env:NAME}', '${file:x}', '${env:NONE}', '<<: ', '__proto__: 1\n'];
const SCALARS = 'null -1 0 1e999 .nan 0x10 true {} []'.split(' ');
const PIECES = [MARKS, BEGINNINGS, TEXTS, SCALARS].flat();

const piece = fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 5 }));

const mutation = fc.record({
  at: fc.nat(text.length),
  removed: fc.nat(12),
  added: piece,
});

test('a mutation of the example is read or refused, and nothing else', () => {
  fc.assert(
    fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), mutations => {
      let mutated = text;
      for (const { at, removed, added } of mutations) {
        mutated = mutated.slice(0, at) + added + mutated.slice(at + removed);
      }
      check(mutated);
    }),
    { numRuns: 100 },
  );
});

test('any value in the place of any other is read or refused, and nothing else', () => {
  const lines = text.split('\n');
  const value = fc.oneof(piece, fc.json({ maxDepth: 2 }));
  fc.assert(
    fc.property(fc.nat(lines.length - 1), value, (index, value) => {
      const changed = (lines[index] ?? '').replace(/:.*$/, `: ${value}`);
      check(lines.with(index, changed).join('\n'));
    }),
    { numRuns: 100 },
  );
});

test('any text at all is read or refused, and nothing else', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), check), { numRuns: 100 });
});

test('any file name is read or refused, and nothing else', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), name => {
      expect(() => loadConfig({ file: `/none/${name}`, environment: {} })).toThrow(OperatorError);
    }),
    { numRuns: 50 },
  );
});
