import { describe, expect, test } from 'vitest';
import { SampleLine } from '../../../src/pipeline/decode/sample-line.ts';

const LIMITS = { labels: 4, nameBytes: 20, valueBytes: 30 };

/** The tokens of a line, or its problem and column. */
function scan(text: string, limits = LIMITS): object {
  const line = new SampleLine(limits);
  const bytes = Buffer.from(`#${text}#`);
  const end = bytes.length - 1;
  const slice = (from: number, to: number): string => bytes.toString('utf8', from, to);
  if (!line.scan(bytes, 1, end)) return { reason: line.reason, column: line.reasonAt };
  return {
    name: slice(line.nameStart, line.nameEnd),
    key: slice(line.keyStart, line.keyEnd),
    value: slice(line.valueStart, line.valueEnd),
    ...(line.timeStart < 0 ? {} : { time: slice(line.timeStart, line.timeEnd) }),
    ...(line.exemplarStart < 0 ? {} : { exemplar: slice(line.exemplarStart, end) }),
  };
}

function hashOf(text: string): number {
  const line = new SampleLine(LIMITS);
  const bytes = Buffer.from(`${text} 1`);
  expect(line.scan(bytes, 0, bytes.length), line.reason).toBe(true);
  return line.hash;
}

describe('a good line is split into its tokens', () => {
  const check = (text: string, want: object): void => {
    expect(scan(text), text).toStrictEqual(want);
  };

  test('name, value and time', () => {
    check('a 1', { name: 'a', key: 'a', value: '1' });
    check('a:b_9 1 2', { name: 'a:b_9', key: 'a:b_9', value: '1', time: '2' });
    check('\ta  \t 1\t 2 \t', { name: 'a', key: 'a', value: '1', time: '2' });
    check('a+Inf', { name: 'a', key: 'a', value: '+Inf' });
    check('a-1', { name: 'a', key: 'a', value: '-1' });
  });

  test('labels', () => {
    check('a{} 1', { name: 'a', key: 'a{}', value: '1' });
    check('a{b="c"} 1', { name: 'a', key: 'a{b="c"}', value: '1' });
    check('a{b="c"}1', { name: 'a', key: 'a{b="c"}', value: '1' });
    check('a { b = "c" , d="e", } 1', { name: 'a', key: 'a { b = "c" , d="e", }', value: '1' });
    check('a{b="} # \\" {x",c=""} 1', { name: 'a', key: 'a{b="} # \\" {x",c=""}', value: '1' });
    check('a{b="\\\\"} 1', { name: 'a', key: 'a{b="\\\\"}', value: '1' });
  });

  test('quoted names', () => {
    check('{"a.b"} 1', { name: 'a.b', key: '{"a.b"}', value: '1' });
    check('{"a.b","c d"="e"} 1', { name: 'a.b', key: '{"a.b","c d"="e"}', value: '1' });
    check('{c="d", "a.b"} 1', { name: 'a.b', key: '{c="d", "a.b"}', value: '1' });
    check('a{"b.c"="d"} 1', { name: 'a', key: 'a{"b.c"="d"}', value: '1' });
  });

  test('exemplars', () => {
    check('a 1 # {} 2', { name: 'a', key: 'a', value: '1', exemplar: ' {} 2' });
    check('a 1 9 # {b="#"} 2 3', {
      name: 'a',
      key: 'a',
      value: '1',
      time: '9',
      exemplar: ' {b="#"} 2 3',
    });
  });
});

test('a bad line is reported with its reason and column', () => {
  const check = (text: string, reason: string, column: number): void => {
    expect(scan(text), text).toStrictEqual({ reason, column });
  };
  check('', 'expected a metric name', 1);
  check('1a 1', 'expected a metric name', 1);
  check('{} 1', 'the sample has no name', 1);
  check('{a="b"} 1', 'the sample has no name', 1);
  check('{""} 1', 'the name is empty', 2);
  check('{"a","b"} 1', 'a second metric name', 6);
  check('a{"b"} 1', 'a second metric name', 3);
  check('a', 'the value is missing', 2);
  check('a{b="c"}', 'the value is missing', 9);
  check('a.b 1', 'expected a blank', 2);
  check('a{b="c"', 'expected `,` or `}` after a label', 8);
  check('a{b="c" d="e"} 1', 'expected `,` or `}` after a label', 9);
  check('a{b="c",,d="e"} 1', 'expected a label name', 9);
  check('a{1="c"} 1', 'expected a label name', 3);
  check('a{b:c="d"} 1', 'expected `=` after a label name', 4);
  check('a{b=c} 1', 'expected a quoted label value', 5);
  check('a{b="c} 1', 'a quoted text has no end', 5);
  check('a{b="c\\', 'a quoted text has no end', 5);
  check('a{', 'expected `}` after the labels', 3);
  check('a 1 2 3', 'unexpected text after the timestamp', 7);
});

test('limits hold for names, values and the number of labels', () => {
  const check = (text: string, want: string | undefined): void => {
    expect((scan(text) as { reason?: string }).reason, text).toBe(want);
  };
  check(`${'a'.repeat(20)} 1`, undefined);
  check(`${'a'.repeat(21)} 1`, 'the name is longer than limits.name');
  check(`{"${'a'.repeat(20)}"} 1`, undefined);
  check(`{"${'a'.repeat(21)}"} 1`, 'the name is longer than limits.name');
  check(`a{${'b'.repeat(21)}="c"} 1`, 'the name is longer than limits.name');
  check(`a{b="${'c'.repeat(30)}"} 1`, undefined);
  check(`a{b="${'c'.repeat(31)}"} 1`, 'a label value is longer than limits.value');
  check('a{b="",c="",d="",e=""} 1', undefined);
  check('a{b="",c="",d="",e="",f=""} 1', 'more labels than limits.labels');
});

test('the hash is that of the label set, in any order and spelling', () => {
  const isSame = (a: string, b: string): boolean => hashOf(a) === hashOf(b);
  expect(isSame('a{b="1",c="2"}', 'a{c="2",b="1"}')).toBe(true);
  expect(isSame('a{b="1",c="2"}', 'a { c = "2" , b = "1", }')).toBe(true);
  expect(isSame('a', 'a{}')).toBe(true);
  expect(isSame('a', 'a{b=""}')).toBe(true);
  expect(isSame('a{b="1"}', '{"a","b"="1"}')).toBe(true);
  expect(isSame('a{b="1",c="2"}', 'a{b="2",c="1"}')).toBe(false);
  expect(isSame('a{b="c"}', 'a{c="b"}')).toBe(false);
  expect(isSame('a{b="1"}', 'b{a="1"}')).toBe(false);
  expect(isSame('a{b="1",c="1"}', 'a{d="2",e="2"}')).toBe(false);
});

test('an exemplar is split by the same scanner', () => {
  const line = new SampleLine(LIMITS);
  const check = (text: string, want: object): void => {
    const bytes = Buffer.from(text);
    const isGood = line.scanExemplar(bytes, 0, bytes.length);
    const slice = (from: number, to: number): string => bytes.toString('utf8', from, to);
    const got = isGood
      ? {
          key: slice(line.keyStart, line.keyEnd),
          value: slice(line.valueStart, line.valueEnd),
          time: line.timeStart < 0 ? null : slice(line.timeStart, line.timeEnd),
        }
      : { reason: line.reason, column: line.reasonAt + 1 };
    expect(got, text).toStrictEqual(want);
  };
  check(' {} 1', { key: '{}', value: '1', time: null });
  check(' {a="b"} 1 2', { key: '{a="b"}', value: '1', time: '2' });
  check(' a="b"} 1', { reason: 'expected `{` at the start of the exemplar', column: 2 });
  check(' {a="b"}', { reason: 'the value is missing', column: 9 });
});
