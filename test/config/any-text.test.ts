// Whatever the text is: a Config or an OperatorError, never anything else, and every mistake has its place.

import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { OperatorError } from '../../src/errors.ts';

const example = readFileSync(
  new URL('../../config/prom2otlp.example.yaml', import.meta.url),
  'utf8',
);
/** Without comments, so that a mutation mostly hits something. */
const text = example.replaceAll(/^ *#.*\n|\n(?=\n)| +#.*$/gm, '');

function check(text: string): void {
  const readFile = (): { text: string } => ({ text: 'x' });
  try {
    parseConfig(text, { file: 'c.yaml', environment: { NAME: 'x' }, readFile });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    expect(error.mistakes.length).toBeGreaterThan(0);
    for (const { message, line, column } of error.mistakes) {
      expect(message).not.toMatch(/Invalid input|undefined|\[object/);
      if (message.startsWith('and ')) continue;
      expect(line).toBeGreaterThan(0);
      expect(column).toBeGreaterThan(0);
    }
  }
}

const PIECES = [
  '\t',
  '\n',
  '  ',
  ': ',
  '- ',
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  '&a ',
  '*a',
  '!t ',
  '|\n',
  '>',
  '#',
  '\r',
  '\uFEFF',
  '${env:NAME}',
  '${file:x}',
  '${env:NONE}',
  '---\n',
  '%YAML 1.1\n',
  '? ',
  '<<: ',
  '\u0000',
  '__proto__: 1\n',
  'null',
  '~',
  '-1',
  '0',
  '1e999',
  '.nan',
  '0x10',
  'true',
  '{}',
  '[]',
];

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
      check(
        lines
          .map((line, i) => (i === index ? line.replace(/:.*$/, `: ${value}`) : line))
          .join('\n'),
      );
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
