import { describe, expect, test } from 'vitest';
import { MARK, type RawLine } from '../../src/logs/record.ts';
import { Unwrapper } from '../../src/logs/unwrap.ts';

const TIME = '2026-03-04T09:05:33.120394Z';
const TIME_MS = Date.UTC(2026, 2, 4, 9, 5, 33, 120);

function unwrap(
  lines: readonly string[],
  options: { format?: 'json' | 'raw'; lineBytesMax?: number; isEnded?: boolean } = {},
): RawLine[] {
  const { format = 'json', lineBytesMax = 1000, isEnded = true } = options;
  const taken: RawLine[] = [];
  const pointers = { message: ['log'], time: ['time'], stream: ['stream'] };
  const unwrapper = new Unwrapper({ format, pointers, lineBytesMax }, line =>
    taken.push({ ...line }),
  );
  let offset = 0;
  for (const line of lines) {
    unwrapper.push(line, offset, 0);
    offset += line.length + 1;
  }
  if (isEnded) unwrapper.flush();
  return taken;
}

const texts = (...lines: string[]): string[] => unwrap(lines).map(line => line.text);
const json = (log: string, more: object = {}): string => JSON.stringify({ log, ...more });

describe('a JSON object per line', () => {
  test('returns text, time and stream', () => {
    const [line] = unwrap([json('hello', { offset: 18231, time: TIME, stream: 'stderr' })]);
    expect(line).toEqual({
      text: 'hello',
      offset: 0,
      timeMs: TIME_MS,
      timeExtraNs: 394_000,
      stream: 'stderr',
      marks: 0,
    });
  });

  test('may contain only the text, with or without its line end', () => {
    expect(texts(json('a'), json('b\n'), json('c\r\n'), json(''))).toEqual(['a', 'b', 'c', '']);
    expect(unwrap([json('a')])[0]).toMatchObject({ timeMs: Number.NaN, stream: '' });
    expect(unwrap([json('a', { time: 'soon', stream: 7 })])[0]).toMatchObject({
      timeMs: Number.NaN,
      stream: '',
    });
  });

  test('is cut at the limit of a line, and marked', () => {
    const cut = { text: 'abcd', marks: MARK.lineCut };
    expect(unwrap([json('abcdef')], { lineBytesMax: 4 })).toMatchObject([cut]);
    expect(unwrap([json(`${TIME} stderr F abcdef`)], { lineBytesMax: 4 })).toMatchObject([cut]);
    expect(unwrap([json('abcd')], { lineBytesMax: 4 })).toMatchObject([{ text: 'abcd', marks: 0 }]);
  });

  test('with several lines returns several, each with its own offset', () => {
    const lines = unwrap([json('x'), json('a\nb\nc\n', { time: TIME })]);
    expect(lines.map(line => line.text)).toEqual(['x', 'a', 'b', 'c']);
    expect(new Set(lines.map(line => line.offset)).size).toBe(4);
    expect(lines.slice(1).map(line => line.timeMs)).toEqual([TIME_MS, TIME_MS, TIME_MS]);
  });

  test('that is invalid does not change', () => {
    const check = (text: string): void => expect(texts(text), text).toEqual([text]);
    check('{"log":"cut');
    check('{"message":"other"}');
    check('{"log":7}');
    check('[1]');
    check('plain');
    check('');
    expect(unwrap([json('a')], { format: 'raw' })[0]?.text).toBe('{"log":"a"}');
  });

  test('loses an incomplete character, and is marked', () => {
    expect(unwrap(['{"log":"a\\ud800b"}'])[0]).toMatchObject({
      text: 'a\uFFFDb',
      marks: MARK.badUtf8,
    });
  });
});

describe('the prefix of a container runtime', () => {
  const full = (text: string): string => `${TIME} stderr F ${text}`;
  const part = (text: string): string => `${TIME} stderr P ${text}`;

  test('is removed, alone or within an object, and its time is used', () => {
    expect(texts(full('hello'), json(full('hello')))).toEqual(['hello', 'hello']);
    const outer = '2026-03-04T09:05:40Z';
    expect(unwrap([json(full('a'), { time: outer, stream: 'stdout' })])[0]).toMatchObject({
      timeMs: TIME_MS,
      timeExtraNs: 394_000,
      stream: 'stderr',
    });
  });

  test('joins parts until the last', () => {
    const lines = unwrap([part('a'), part('b'), full('c'), full('d')], { format: 'raw' });
    expect(lines.map(line => [line.text, line.offset])).toEqual([
      ['abc', 0],
      ['d', 3 * (part('a').length + 1)],
    ]);
  });

  test('waits for the last part, and returns the parts at the end of the input', () => {
    expect(unwrap([full('a'), part('b')], { isEnded: false }).map(line => line.text)).toEqual([
      'a',
    ]);
    expect(unwrap([full('a'), part('b')]).map(line => line.text)).toEqual(['a', 'b']);
  });

  test('of another stream, or none, ends what was being joined', () => {
    const other = `${TIME} stdout F x`;
    expect(texts(part('a'), other, full('b'))).toEqual(['a', 'x', 'b']);
    expect(texts(part('a'), 'plain', full('b'))).toEqual(['a', 'plain', 'b']);
  });

  test('joins no more than the limit of a line', () => {
    const [line] = unwrap([part('abcd'), part('efgh'), full('i')], { lineBytesMax: 6 });
    expect(line).toMatchObject({ text: 'abcdef', marks: MARK.lineCut });
  });

  test('that is not one stays', () => {
    const check = (text: string): void => expect(texts(text), text).toEqual([text]);
    check('2026-03-04T09:05:33Z message');
    check('2026-03-04T09:05:33Z stdin F message');
    check('2026-03-04  9:05:33 0 [Note] stderr F message');
    check('2026-03-04T09:05:33Z stderr');
  });
});
