import { expect, test } from 'vitest';
import { SampleLine } from '../../../src/pipeline/decode/sample-line.ts';
import { parseSeriesKey } from '../../../src/pipeline/decode/series-key.ts';

const LIMITS = { labels: 4, nameBytes: 20, valueBytes: 30 };

/** The tokens of a line, between bars, or its problem and column. */
function scan(text: string, isExemplar = false): string {
  const line = new SampleLine(LIMITS);
  const bytes = Buffer.from(`#${text}#`);
  const end = bytes.length - 1;
  const slice = (from: number, to: number): string => bytes.toString('utf8', from, to);
  const isGood = isExemplar ? line.scanExemplar(bytes, 1, end) : line.scan(bytes, 1, end);
  if (!isGood) return `${line.reasonAt}: ${line.reason}`;
  const { name } = parseSeriesKey(bytes, line.keyStart, line.keyEnd);
  return [
    ...(isExemplar ? [] : [name]),
    slice(line.keyStart, line.keyEnd),
    slice(line.valueStart, line.valueEnd),
    ...(line.timeStart < 0 ? [] : [slice(line.timeStart, line.timeEnd)]),
    ...(line.exemplarStart < 0 ? [] : [`#${slice(line.exemplarStart, end)}`]),
  ].join('|');
}

function hashOf(text: string): number {
  const line = new SampleLine(LIMITS);
  const bytes = Buffer.from(`${text} 1`);
  expect(line.scan(bytes, 0, bytes.length), line.reason).toBe(true);
  return line.hash;
}

const check = (text: string, want: string): void => expect(scan(text), text).toBe(want);

test('name, value and time', () => {
  check('a 1', 'a|a|1');
  check('a:b_9 1 2', 'a:b_9|a:b_9|1|2');
  check('\ta  \t 1\t 2 \t', 'a|a|1|2');
  check('a+Inf', 'a|a|+Inf');
  check('a-1', 'a|a|-1');
});

test('labels', () => {
  check('a{} 1', 'a|a{}|1');
  check('a{b="c"} 1', 'a|a{b="c"}|1');
  check('a{b="c"}1', 'a|a{b="c"}|1');
  check('a { b = "c" , d="e", } 1', 'a|a { b = "c" , d="e", }|1');
  check('a{b="} # \\" {x",c=""} 1', 'a|a{b="} # \\" {x",c=""}|1');
  check('a{b="\\\\"} 1', 'a|a{b="\\\\"}|1');
});

test('quoted names', () => {
  check('{"a.b"} 1', 'a.b|{"a.b"}|1');
  check('{"a.b","c d"="e"} 1', 'a.b|{"a.b","c d"="e"}|1');
  check('{c="d", "a.b"} 1', 'a.b|{c="d", "a.b"}|1');
  check('a{"b.c"="d"} 1', 'a|a{"b.c"="d"}|1');
});

test('exemplars', () => {
  check('a 1 # {} 2', 'a|a|1|# {} 2');
  check('a 1 9 # {b="#"} 2 3', 'a|a|1|9|# {b="#"} 2 3');
  expect(scan(' {} 1', true)).toBe('{}|1');
  expect(scan(' {a="b"} 1 2', true)).toBe('{a="b"}|1|2');
  expect(scan(' a="b"} 1', true)).toBe('2: expected `{` at the start of the exemplar');
  expect(scan(' {a="b"}', true)).toBe('9: the value is missing');
  expect(scan(' {"a"} 1', true)).toBe('3: a second metric name');
});

test('a bad line is reported with its reason and column', () => {
  check('', '1: expected a metric name');
  check('1a 1', '1: expected a metric name');
  check('{} 1', '1: the sample has no name');
  check('{a="b"} 1', '1: the sample has no name');
  check('{""} 1', '2: the name is empty');
  check('{"a",""="v"} 1', '6: the name is empty');
  check('{"a","b"} 1', '6: a second metric name');
  check('a{"b"} 1', '3: a second metric name');
  check('a', '2: the value is missing');
  check('a{b="c"}', '9: the value is missing');
  check('a.b 1', '2: expected a blank');
  check('a{b="c"', '8: expected `,` or `}` after a label');
  check('a{b="c" d="e"} 1', '9: expected `,` or `}` after a label');
  check('a{b="c",,d="e"} 1', '9: expected a label name');
  check('a{1="c"} 1', '3: expected a label name');
  check('a{b:c="d"} 1', '4: expected `=` after a label name');
  check('a{b=c} 1', '5: expected a quoted label value');
  check('a{b="c} 1', '5: a quoted text has no end');
  check('a{b="c\\', '5: a quoted text has no end');
  check('a{', '3: expected `}` after the labels');
  check('a 1 2 3', '7: unexpected text after the timestamp');
});

test('limits hold for names, values and the number of labels', () => {
  const [fits, isLong] = ['a'.repeat(20), 'a'.repeat(21)];
  for (const text of [`${fits} 1`, `{"${fits}"} 1`, `a{b="${'c'.repeat(30)}"} 1`])
    expect(scan(text)).toMatch(/\|1$/);
  check(`${isLong} 1`, '1: the name is longer than limits.name');
  check(`{"${isLong}"} 1`, '2: the name is longer than limits.name');
  check(`a{${isLong}="c"} 1`, '3: the name is longer than limits.name');
  check(`a{b="${'c'.repeat(31)}"} 1`, '5: a label value is longer than limits.value');
  check('a{b="",c="",d="",e=""} 1', 'a|a{b="",c="",d="",e=""}|1');
  check('a{b="",c="",d="",e="",f=""} 1', '25: more labels than limits.labels');
});

test.each([
  ['a{b="1",c="2"}', ['a{c="2",b="1"}', 'a { c = "2" , b = "1", }'], ['a{b="2",c="1"}']],
  ['a', ['a{}', 'a{b=""}'], ['b']],
  ['a{b="1"}', ['{"a","b"="1"}'], ['a{"1"="b"}', 'b{a="1"}']],
  ['a{b="1",c="1"}', [], ['a{d="2",e="2"}']],
])('the hash of %s is that of the label set, in any order and spelling', (text, same, others) => {
  for (const one of same) expect(hashOf(one), one).toBe(hashOf(text));
  for (const one of others) expect(hashOf(one), one).not.toBe(hashOf(text));
});
