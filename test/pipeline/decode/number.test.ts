import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readMilliseconds, readSeconds, readValue } from '../../../src/pipeline/decode/number.ts';

type Reader = typeof readValue;

/** The number that a reader finds in a text between other texts; null if it refuses. */
function read(reader: Reader, text: string): number | null {
  const out = new Float64Array(1);
  const bytes = Buffer.from(`7${text}7`, 'latin1');
  return reader(bytes, 1, bytes.length - 1, out) ? (out[0] ?? null) : null;
}

describe('readValue', () => {
  const check = (text: string, want: number): void => {
    expect(read(readValue, text), text).toBe(want);
  };

  test.each([
    [
      'integers, fractions and exponents',
      '0 7 -7 +7 1234567890123 0.5 .5 5. -.5 1e3 1E3 1.e3 1e+3 25e-3 3.14e+42',
    ],
    [
      'leading and trailing zeros',
      `0000000000000000000000000000000000000000001 0000000000000000000000000000000000000000001.2e-1
       1.500000000000000000000000000000000000 0.000000000000000000000000000000000001 ${'0'.repeat(900)}1`,
    ],
    ['the two zeros', '-0 -0.0e5 +0 0e999999999'],
    [
      'mantissas of 15 to 20 digits',
      `999999999999999 9007199254740993 9007199254740995 123456789012345678 0.1234567890123456789
       18446744073709551615 56.12904785000000001 3.644546508789066 900719925474099.1 9.007199254740993
       0.9007199254740995e-6 90071992547409930e-1`,
    ],
    [
      'halfway cases, which round to even',
      `9007199254740993.0 9007199254740993.00000000000000000000000000000001
       1.00000000000000011102230246251565404236316680908203125
       1.00000000000000011102230246251565404236316680908203126 2.5e-324 2.4703282292062327208e-324 2.4703282292062328e-324`,
    ],
    [
      'subnormals, overflow and underflow',
      `5e-324 2.2250738585072011e-308 2.2250738585072014e-308 1.7976931348623157e308 1.7976931348623159e308 1e400
       -1e999999999999 1e-400 1e22 1e23 123456789e-22 123456789e-23`,
    ],
  ])('%s are read as Number() reads them', (_, texts) => {
    for (const text of texts.split(/\s+/)) check(text, Number(text));
  });

  test('NaN and the infinities in any case', () => {
    for (const text of ['NaN', 'nan']) check(text, Number.NaN);
    for (const text of ['Inf', '+inf', 'Infinity']) check(text, Infinity);
    for (const text of ['-INF', '-infinity']) check(text, -Infinity);
  });

  test('text that is not a number of the formats is refused', () => {
    const refused = ' - + . -. e e5 .e5 1e 1e+ 1e- 1e5.0 1.2.3 --1 +-1'.split(' ');
    const hex = ['0x1', '0X1p-3', '0b1', '0o7', '1_000', '1,5', '1f', '1d', '0x', 'x'];
    const words = ['na', 'nano', 'in', 'info', 'infinite', 'true', 'null'];
    const blanks = [' 1', '1 ', '1\t', '\u0000', '１'];
    for (const text of [...refused, ...hex, ...words, ...blanks])
      expect(read(readValue, text), text).toBe(null);
  });

  test('a number of absurd length is refused', () => {
    expect(read(readValue, '1'.repeat(100_000))).toBe(null);
  });

  test('it never reads past its end', () => {
    expect(read(readValue, '1')).toBe(1);
    expect(read(readValue, '1e')).toBe(null);
    expect(read(readValue, '1.')).toBe(1);
  });
});

test('every double, in any notation, is read bit for bit', () => {
  const spelled = fc
    .tuple(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.nat(20),
      fc.constantFrom('', '0', '000'),
    )
    .map(([value, digits, zeros]) => {
      const texts = [String(value), value.toExponential(), value.toExponential(digits)];
      if (Math.abs(value) < 1e21) texts.push(value.toFixed(digits));
      return texts.map(text => text.replace(/^(-?)(?=\d)/, `$1${zeros}`));
    });
  fc.assert(
    fc.property(spelled, texts => {
      for (const text of texts) expect(read(readValue, text), text).toBe(Number(text));
    }),
  );
});

test('every decimal of the grammar is read as Number() reads it', () => {
  const digits = (max: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), minLength: 1, maxLength: max });
  const decimal = fc
    .tuple(
      fc.constantFrom('', '-', '+'),
      digits(25),
      fc.option(digits(25)),
      fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '-', '+'), fc.nat(330))),
    )
    .map(
      ([sign, whole, fraction, exponent]) =>
        `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent?.join('') ?? ''}`,
    );
  fc.assert(
    fc.property(decimal, text => {
      expect(read(readValue, text), text).toBe(Number(text));
    }),
    { numRuns: 2000 },
  );
});

test('no text makes it throw, and Number() knows all that it accepts', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom(...Array.from('0123456789+-.eEinfNa _xb')),
        maxLength: 12,
      }),
      text => {
        const value = read(readValue, text);
        if (value === null || /[a-df-z]/i.test(text.replace(/e/i, ''))) return;
        expect(value, text).toBe(Number(text));
      },
    ),
  );
});

test('milliseconds are integers', () => {
  const texts = `0 000 1395066363000 -3982045 +5 9007199254740992 9223372036854775807 -9223372036854775808`;
  for (const text of texts.split(' '))
    expect(read(readMilliseconds, text), text).toBe(Number(text));
  const refused = ['', '-', '1.5', '1e3', '0x1', 'NaN', '99999999999999999999', '9'.repeat(5000)];
  for (const text of refused) expect(read(readMilliseconds, text), text).toBe(null);
});

test('seconds become whole milliseconds', () => {
  const check = (text: string, want: number | null): void => {
    expect(read(readSeconds, text), text).toBe(want);
  };
  check('0', 0);
  check('1520879607.789', 1_520_879_607_789);
  check('1.520879607789e9', 1_520_879_607_789);
  check('123.123', 123_123);
  check('0.0004', 0);
  check('0.0005', 1);
  check('-2', -2000);
  check('10000000000000000000.1234567890', 1e22);
  for (const text of ['NaN', 'Inf', '-Inf', '1e308', '1z']) check(text, null);
});
