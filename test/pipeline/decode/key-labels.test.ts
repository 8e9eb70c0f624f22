// KeyLabels finds the same labels in a key as parseSeriesKey(), or refuses the key.

import { array, assert, constantFrom, property, string, tuple } from 'fast-check';
import { expect, test } from 'vitest';
import { SampleLine } from '../../../src/pipeline/decode/sample-line.ts';
import {
  duplicateLabel,
  KeyLabels,
  parseSeriesKey,
} from '../../../src/pipeline/decode/series-key.ts';

const NO_LIMITS = { labels: Infinity, nameBytes: Infinity, valueBytes: Infinity };

/** Name, labels and whether a label is duplicate, by both readers; null if KeyLabels refuses. */
function readBoth(text: string): readonly [places: unknown, key: unknown] | null {
  const bytes = Buffer.from(`${text} 1`);
  const line = new SampleLine(NO_LIMITS);
  const places = new KeyLabels();
  if (!line.scan(bytes, 0, bytes.length)) return null;
  const { keyStart, keyEnd } = line;
  if (!places.read(bytes, keyStart, keyEnd)) return null;
  const textAt = (start: number | undefined, end: number | undefined): string =>
    bytes.toString('utf8', start, end);
  const labels = Array.from({ length: places.count }, (_, i) => [
    textAt(places.labelStart[i], places.labelEnd[i]),
    textAt(places.valueStart[i], places.valueEnd[i]),
  ]);
  const key = parseSeriesKey(bytes, keyStart, keyEnd);
  return [
    {
      name: textAt(keyStart, places.nameEnd),
      labels: labels.filter(([, value]) => value !== ''),
      isDistinct: places.isDistinct(bytes),
    },
    { name: key.name, labels: key.labels, isDistinct: duplicateLabel(key) === null },
  ];
}

test.each([
  ['plain', 'a{b="c",d="e"}'],
  ['without labels', 'a'],
  ['blanks everywhere', 'a { b = "c" ,\t d="" , }'],
  ['braces and commas in values', 'a{b="}{,=",c="é"}'],
  ['a label twice', 'a{b="1",c="2",b=""}'],
  ['many labels', `a{${Array.from({ length: 40 }, (_, i) => `l${i}="v"`).join(',')}}`],
])('%s', (_, text) => {
  const read = readBoth(text);
  expect(read?.[0]).toEqual(read?.[1]);
  expect(read).not.toBeNull();
});

test.each(['{"a",b="c"}', 'a{"b"="c"}', 'a{b="\\"",c="d"}', 'a{b="\\\\"}'])(
  '%s is refused',
  text => {
    expect(readBoth(text)).toBeNull();
  },
);

test('any key', () => {
  const label = tuple(
    constantFrom('a', 'b', 'le', 'x_1', ' c ', '"q"'),
    string({ maxLength: 6 }).map(text => text.replaceAll(/[\n\r]/g, '')),
  );
  assert(
    property(array(label, { maxLength: 20 }), labels => {
      const inside = labels.map(([name, value]) => `${name}="${value}"`).join(',');
      const read = readBoth(`name{${inside}}`);
      if (read !== null) expect(read[0]).toEqual(read[1]);
    }),
    { numRuns: 500 },
  );
});
