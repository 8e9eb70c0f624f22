import { array, assert, constantFrom, integer, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EntryReader, type EntryProgress } from '../../src/logs/entry-reader.ts';
import { MARK } from '../../src/logs/record.ts';
import { IndentReader } from '../support/indent-reader.ts';

const POINTERS = { message: ['log'], time: ['time'], stream: ['stream'] };

interface Read {
  readonly bodies: string[];
  readonly offsets: number[];
  readonly progress: EntryProgress;
  readonly isSame: boolean;
}

interface Options {
  readonly progress?: EntryProgress | null;
  readonly pieceBytes?: number;
  readonly isFinal?: boolean;
  readonly format?: 'raw' | 'json';
  /** Stops after this many lines, like a crash after a commit. */
  readonly lines?: number;
}

function read(text: string, options: Options = {}): Read {
  const { progress = null, pieceBytes = 1000, isFinal = false, format = 'raw' } = options;
  const unwrap = { format, pointers: POINTERS, lineBytesMax: 1000 };
  const reader = new EntryReader({ progress, reader: new IndentReader(), unwrap });
  const bytes = Buffer.from(text);
  const read: { bodies: string[]; offsets: number[] } = { bodies: [], offsets: [] };
  const keep = (): void => {
    for (const { body, firstOffset, marks } of reader.records) {
      read.bodies.push((marks & MARK.continuation) === 0 ? body : `… ${body}`);
      read.offsets.push(firstOffset);
    }
  };
  let isSame = true;
  let lineCount = 0;
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    isSame = reader.feed(bytes.subarray(from, from + pieceBytes));
    if (!isSame) break;
    while (reader.next()) {
      keep();
      if (++lineCount === options.lines) return { ...read, progress: reader.progress(), isSame };
    }
  }
  isSame &&= reader.end(isFinal);
  keep();
  return { ...read, progress: reader.progress(), isSame };
}

describe('an entry that grows', () => {
  test('is read on from the last position, including its open record', () => {
    const first = read('a\nb\n b2\n');
    expect(first.bodies).toEqual(['a']);
    expect(first.progress).toMatchObject({ bytes: 8, lines: 3, hasTail: false });
    const second = read('a\nb\n b2\n b3\nc\n', first);
    expect(second.bodies).toEqual(['b\n b2\n b3']);
    expect(second.offsets).toEqual([2]);
    expect(second.progress).toMatchObject({ bytes: 14, lines: 5 });
  });

  test('returns an unfinished line only at the end of the log, and continues after it', () => {
    const first = read('a\nb');
    expect(first.bodies).toEqual([]);
    expect(first.progress).toMatchObject({ bytes: 2, hasTail: true });
    const second = read('a\nb', { ...first, isFinal: true });
    expect(second.bodies).toEqual(['a', 'b']);
    expect(second.progress).toMatchObject({ bytes: 3, hasTail: false });
    expect(read('a\nbc\n  d\n', second).bodies).toEqual([]);
    expect(read('a\nbc\n  d\n', { ...second, isFinal: true }).bodies).toEqual(['c\n  d']);
  });

  test('marks lines of a record that was already sent', () => {
    const first = read('a\n', { isFinal: true });
    expect(first.bodies).toEqual(['a']);
    expect(read('a\n b\n', { ...first, isFinal: true }).bodies).toEqual(['…  b']);
  });

  test('returns nothing if it has not grown', () => {
    const first = read('a\nb\n', { isFinal: true });
    const second = read('a\nb\n', { ...first, isFinal: true });
    expect(second.bodies).toEqual([]);
    expect(second.progress).toEqual(first.progress);
  });
});

describe('a replaced entry', () => {
  const first = read('one\ntwo\n', { isFinal: true });
  const check = (text: string, isSame: boolean): void =>
    expect(read(text, { progress: first.progress, pieceBytes: 3 }).isSame, text).toBe(isSame);

  test('is detected by its beginning or its length', () => {
    check('one\ntwo\n', true);
    check('one\ntwo\nthree\n', true);
    check('One\ntwo\nthree\n', false);
    check('one\ntwO\n', false);
    check('one\n', false);
    check('', false);
  });
});

test('parts of an unfinished line are not settled before its end', () => {
  const part = (kind: 'P' | 'F', text: string): string =>
    `2026-03-04T09:05:33Z stderr ${kind} ${text}\n`;
  const first = read(`${part('F', 'a')}${part('P', 'b')}`);
  expect(first.progress).toMatchObject({ bytes: part('F', 'a').length, hasTail: true, lines: 1 });
  const text = `${part('F', 'a')}${part('P', 'b')}${part('F', 'c')}`;
  expect(read(text, { ...first, isFinal: true }).bodies).toEqual(['a', 'bc']);
});

test('parts of two streams are continued wherever a piece ended within a line', () => {
  const part = (stream: string): string => `2026-03-04T09:05:33Z ${stream} P x\n`;
  const text = `${part('stdout')}${part('stderr')}`;
  for (let pieceBytes = 1; pieceBytes < text.length; pieceBytes++) {
    const { progress } = read(text, { pieceBytes, lines: 2 });
    expect(progress).toMatchObject({ bytes: part('stdout').length, lines: 1 });
    expect(read(text, { progress }).isSame, `${pieceBytes}`).toBe(true);
  }
});

test('an empty entry is finished at once', () => {
  expect(read('').progress).toMatchObject({ bytes: 0, lines: 0, hasTail: false, reader: '' });
});

test('reading can stop anywhere: continuing gives every record once and the same offsets', () => {
  const parts = ['stderr', 'stdout'].map(stream => `2026-03-04T09:05:33Z ${stream} P x`);
  const line = constantFrom('a', ' b', 'é', '', ' ', ...parts);
  const prefixed = constantFrom(...parts, 'T09:05:33Z', 'y', ' z');
  assert(
    property(
      array(line, { maxLength: 20 }),
      array(prefixed, { maxLength: 5 }),
      array(integer({ min: 1, max: 30 }), { maxLength: 8 }),
      integer({ min: 1, max: 12 }),
      (lines, more, stops, pieceBytes) => {
        const text = [...lines, ...more, ''].join('\n');
        const whole = read(text, { isFinal: true });
        const bodies: string[] = [];
        const offsets: number[] = [];
        let progress: EntryProgress | null = null;
        for (const stop of [...stops, Infinity]) {
          const part: Read = read(text, { progress, pieceBytes, lines: stop, isFinal: true });
          expect(part.isSame).toBe(true);
          bodies.push(...part.bodies);
          offsets.push(...part.offsets);
          progress = part.progress;
        }
        expect(bodies).toEqual(whole.bodies);
        expect(offsets).toEqual(whole.offsets);
      },
    ),
  );
});
