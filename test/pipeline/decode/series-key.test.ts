import { array, assert, constantFrom, property, string, tuple } from 'fast-check';
import { expect, test } from 'vitest';
import { SampleLine } from '../../../src/pipeline/decode/sample-line.ts';
import {
  duplicateLabel,
  isSameSeries,
  KeyLabels,
  labelValue,
  parseSeriesKey,
  type SeriesKey,
  unescapeText,
} from '../../../src/pipeline/decode/series-key.ts';

function parse(text: string): SeriesKey {
  const bytes = Buffer.from(`x${text}x`);
  return parseSeriesKey(bytes, 1, bytes.length - 1);
}

/** Whether a label occurs twice, according to the bytes; null if only parsing the key can tell. */
function hasTwice(text: string): boolean | null {
  const bytes = Buffer.from(`x${text}x`);
  const labels = new KeyLabels();
  return labels.read(bytes, 1, bytes.length - 1) ? !labels.isDistinct(bytes) : null;
}

test('a key is split into name and labels', () => {
  const check = (text: string, name: string, labels: Record<string, string>): void => {
    const key = parse(text);
    expect(key.name, text).toBe(name);
    expect(key.labels, text).toStrictEqual(Object.entries(labels));
  };
  check('a', 'a', {});
  check('a:b{}', 'a:b', {});
  check('a{b="c"}', 'a', { b: 'c' });
  check('a {\tb = "c" ,d="e", }', 'a', { b: 'c', d: 'e' });
  check('{"a.b"}', 'a.b', {});
  check('{"a{b=","c d"="}"}', 'a{b=', { 'c d': '}' });
  check('{c="d", "a.b" , e="f"}', 'a.b', { c: 'd', e: 'f' });
  check('a{b="Björn",c="佖"}', 'a', { b: 'Björn', c: '佖' });
  check('a{b="x\\\\y\\"z\\nw\\t"}', 'a', { b: 'x\\y"z\nw\\t' });
  check('{"a\\"b\\\\"}', 'a"b\\', {});
  check('a{b="=,{}"}', 'a', { b: '=,{}' });
});

test('any key gives the labels that it was made of', () => {
  const label = tuple(constantFrom('a', 'b', 'le', 'x_1', '"q"'), string({ maxLength: 6 }));
  const blank = constantFrom('', ' ', '\t ');
  assert(
    property(array(label, { maxLength: 40 }), blank, (labels, blank) => {
      const escaped = labels.map(
        ([name, value]) =>
          [name, value.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')] as const,
      );
      const words = escaped.map(([name, value]) => `${name}${blank}=${blank}"${value}"`);
      const text = `name${blank}{${words.join(`${blank},`)}${blank}}`;
      const isPlain = labels.every(([name, value]) => !/["\\\n]/.test(name + value));
      const line = new SampleLine({ labels: 40, nameBytes: 9, valueBytes: 99 });
      const bytes = Buffer.from(`x${text} 1`);
      expect(line.scan(bytes, 1, bytes.length), line.reason).toBe(true);
      expect(bytes.toString('utf8', line.keyStart, line.keyEnd)).toBe(text);
      const key = parse(text);
      const named = labels.map(([name, value]) => [name.replaceAll('"', ''), value] as const);
      expect(key.name).toBe('name');
      expect(key.labels).toStrictEqual(named.filter(([, value]) => value !== ''));
      const isTwice = new Set(named.map(([name]) => name)).size < named.length;
      expect(duplicateLabel(key) !== null).toBe(isTwice);
      expect(hasTwice(text)).toBe(isPlain ? isTwice : null);
    }),
    { numRuns: 500 },
  );
});

test('labels with an empty value are absent, but recorded', () => {
  const key = parse('a{b="",c="1",d=""}');
  expect(key.labels).toStrictEqual([['c', '1']]);
  expect(key.emptyLabels).toStrictEqual(['b', 'd']);
});

test('a duplicate label is found', () => {
  const check = (text: string, want: string | null): void => {
    expect(duplicateLabel(parse(text)), text).toBe(want);
    expect(hasTwice(text) ?? want !== null, text).toBe(want !== null);
  };
  check('a', null);
  check('a{b="1",c="2"}', null);
  check('a{b="1",b="2"}', 'b');
  check('a{b="1",c="2",b=""}', 'b');
  check('a{b="1",c="2","b"="1"}', 'b');
  check('a{b="",b="1"}', 'b');
  check('a{b="",b=""}', 'b');
});

test('series are the same for any order of their labels', () => {
  const check = (a: string, b: string, want: boolean): void => {
    expect(isSameSeries(parse(a), parse(b)), `${a} and ${b}`).toBe(want);
  };
  check('a{b="1",c="2"}', 'a{c="2",b="1"}', true);
  check('a{b="1",c=""}', 'a{b="1"}', true);
  check('a', '{"a"}', true);
  check('a{b="1"}', 'a{b="2"}', false);
  check('a{b="1"}', 'a{b="1",c="2"}', false);
  check('a{b="1"}', 'b{b="1"}', false);
});

test('one label is looked up by name', () => {
  const key = parse('a{b="1",c=""}');
  expect(labelValue(key, 'b')).toBe('1');
  expect(labelValue(key, 'c')).toBe('');
  expect(labelValue(key, 'd')).toBe('');
});

test('three escapes are decoded, the rest does not change', () => {
  const check = (text: string, want: string): void => {
    expect(unescapeText(text), text).toBe(want);
  };
  check('foo', 'foo');
  check('\\\\', '\\');
  check('\\n', '\n');
  check('\\"', '"');
  check('\\\\n', '\\n');
  check('\\\\\\n', '\\\n');
  check('\\foo', '\\foo');
  check('foo\\', 'foo\\');
});
