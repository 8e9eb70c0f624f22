import { array, assert, constantFrom, integer, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineSplitter } from '../../src/logs/entry-reader.ts';
import { MARK } from '../../src/logs/record.ts';

interface Line {
  readonly text: string;
  readonly offset: number;
  readonly marks: number;
}

function split(pieces: readonly Buffer[], lineBytesMax = 100, isEnded = true): Line[] {
  const splitter = new LineSplitter(lineBytesMax);
  const lines: Line[] = [];
  const take = (): void => {
    while (splitter.next()) {
      const { text, offset, marks } = splitter;
      lines.push({ text, offset, marks });
    }
  };
  for (const piece of pieces) {
    splitter.feed(piece);
    take();
  }
  if (isEnded) splitter.feedEnd();
  take();
  return lines;
}

function texts(text: string): string[] {
  return split([Buffer.from(text)]).map(line => line.text);
}

test('lines are whole', () => {
  expect(texts('a\nb\n')).toEqual(['a', 'b']);
  expect(texts('\n\n\n')).toEqual(['', '', '']);
  expect(texts('a\r\nb\r\n\r\n')).toEqual(['a', 'b', '']);
  expect(texts('é\nß\n')).toEqual(['é', 'ß']);
  expect(texts('')).toEqual([]);
});

test('a line without an end waits for it, and is returned at the end of the input', () => {
  const whole = Buffer.from('a\nbc');
  expect(split([whole], 100, false).map(line => line.text)).toEqual(['a']);
  expect(split([whole], 100, true).map(line => line.text)).toEqual(['a', 'bc']);
});

test('positions are bytes of the entry', () => {
  const splitter = new LineSplitter(100, 1000);
  splitter.feed(Buffer.from('é\nab\nc'));
  const offsets: number[] = [];
  while (splitter.next()) offsets.push(splitter.offset);
  expect(offsets).toEqual([1000, 1003]);
  expect([splitter.position, splitter.hasTail]).toEqual([1006, true]);
  splitter.feedEnd();
  expect([splitter.next(), splitter.offset, splitter.text]).toEqual([true, 1006, 'c']);
  expect([splitter.position, splitter.hasTail, splitter.next()]).toEqual([1007, false, false]);
});

describe('a line over the limit', () => {
  const check = (text: string, want: readonly [string, number, boolean][]): void => {
    const lines = split([Buffer.from(text)], 8);
    expect(
      lines.map(({ text, offset, marks }) => [text, offset, (marks & MARK.lineCut) !== 0]),
    ).toEqual(want);
  };

  test('is cut and marked, and those around it are whole', () => {
    check('ab\n0123456789\ncd\n', [
      ['ab', 0, false],
      ['01234567', 3, true],
      ['cd', 14, false],
    ]);
    check('01234567\n', [['01234567', 0, false]]);
    check('012345678', [['01234567', 0, true]]);
  });

  test('is not cut within a character', () => {
    check('0123456é89\n', [['0123456', 0, true]]);
    check('01234é6789\n', [['01234é6', 0, true]]);
    check('0123😀89\n', [['0123😀', 0, true]]);
    check('01234😀89\n', [['01234', 0, true]]);
  });

  test('counts its lost bytes, and does not shift positions', () => {
    for (const pieces of [['0123456789\n'], ['01234', '56789', '\n'], ['0123456789']]) {
      const splitter = new LineSplitter(8);
      for (const piece of pieces) splitter.feed(Buffer.from(piece));
      splitter.feedEnd();
      while (splitter.next());
      expect([splitter.cutBytes, splitter.position]).toEqual([2, pieces.join('').length]);
    }
  });
});

test('bytes that are not UTF-8 are replaced and marked, only in their line', () => {
  const lines = split([Buffer.from('a\n'), Buffer.of(0x62, 0xff, 10), Buffer.from('é\n')]);
  expect(lines.map(({ text, marks }) => [text, marks])).toEqual([
    ['a', 0],
    ['b\uFFFD', MARK.badUtf8],
    ['é', 0],
  ]);
});

test('the lines are the same for any pieces', () => {
  const part = constantFrom('a', 'bb', 'é', '😀', '\n', '\r\n', '0123456789', '');
  assert(
    property(array(part, { maxLength: 60 }), array(integer({ min: 1, max: 9 })), (parts, cuts) => {
      const bytes = Buffer.from(parts.join(''));
      const pieces: Buffer[] = [];
      let from = 0;
      for (const cut of cuts) {
        pieces.push(bytes.subarray(from, from + cut));
        from += cut;
      }
      pieces.push(bytes.subarray(from));
      expect(split(pieces, 8)).toEqual(split([bytes], 8));
    }),
  );
});
