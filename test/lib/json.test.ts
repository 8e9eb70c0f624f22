import { expect, test } from 'vitest';
import { follow, parseExactJson, parsePointer } from '../../src/lib/json.ts';

/** The document of RFC 6901, section 5, and what each pointer of it evaluates to. */
const DOCUMENT: Record<string, unknown> = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
};

test('the examples of RFC 6901 resolve as specified', () => {
  const check = (pointer: string, value: unknown): void =>
    expect(follow(parsePointer(pointer), DOCUMENT), pointer).toEqual(value);
  check('', DOCUMENT);
  check('/foo/0', 'bar');
  for (const [name, value] of Object.entries(DOCUMENT))
    check(`/${name.replace('~', '~0').replace('/', '~1')}`, value);
});

test('missing and inherited members are undefined', () => {
  const check = (pointer: string): void =>
    expect(follow(parsePointer(pointer), DOCUMENT), pointer).toBeUndefined();
  check('/none');
  check('/foo/2');
  check('/foo/00');
  check('/foo/-');
  check('/foo/length');
  check('/a~1b/deeper');
  check('/constructor');
  check('/__proto__');
  expect(follow(['a'], null)).toBeUndefined();
  expect(follow(['0'], 'text')).toBeUndefined();
});

test('an escaped tilde is not unescaped twice', () => {
  expect(follow(parsePointer('/~01'), { '~1': 'here' })).toBe('here');
});

test('a number that JavaScript would round remains a text', () => {
  const rounded = '9007199254740993, -1.2345678901234567891, 1e400';
  const json = `[${rounded}, 9007199254740991, 0.1, 1.500000000000000000, 1e21, 0.00000000000000001]`;
  expect(parseExactJson(json)).toEqual([
    '9007199254740993',
    '-1.2345678901234567891',
    '1e400',
    9007199254740991,
    0.1,
    1.5,
    1e21,
    1e-17,
  ]);
  expect(parseExactJson('{')).toBeUndefined();
});
