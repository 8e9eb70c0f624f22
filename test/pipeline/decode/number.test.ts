import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readMilliseconds, readSeconds, readValue } from '../../../src/pipeline/decode/number.ts';

type Reader = typeof readValue;

/** The number that a reader finds in a text between other texts; null if it refuses. */
function read(reader: Reader, text: string, behind = '7'): number | null {
  const out = new Float64Array(1);
  const bytes = Buffer.from(`7${text}${behind}`, 'latin1');
  return reader(bytes, 1, bytes.length - behind.length, out) ? (out[0] ?? null) : null;
}

test.each([
  [
    'integers, fractions and exponents',
    '0 7 -7 +7 1234567890123 0.5 .5 5. -.5 1e3 1E3 1.e3 1e+3 25e-3 3.14e+42',
  ],
  [
    'leading and trailing zeros',
    `0000000000000000000000000000000000000000001 0000000000000000000000000000000000000000001.2e-1 \
1.500000000000000000000000000000000000 0.000000000000000000000000000000000001 ${'0'.repeat(900)}1`,
  ],
  ['both zeros', '-0 -0.0e5 +0 0e999999999'],
  [
    'mantissas of 15 to 20 digits',
    '999999999999999 9007199254740993 9007199254740995 123456789012345678 0.1234567890123456789 ' +
      '18446744073709551615 56.12904785000000001 3.644546508789066 900719925474099.1 9.007199254740993 ' +
      '0.9007199254740995e-6 90071992547409930e-1',
  ],
  [
    'halfway cases',
    '9007199254740993.0 9007199254740993.00000000000000000000000000000001 ' +
      '1.00000000000000011102230246251565404236316680908203125 ' +
      '1.00000000000000011102230246251565404236316680908203126 2.5e-324 2.4703282292062327208e-324 ' +
      '2.4703282292062328e-324',
  ],
  [
    'subnormals, overflow and underflow',
    '5e-324 2.2250738585072011e-308 2.2250738585072014e-308 1.7976931348623157e308 ' +
      '1.7976931348623159e308 1e400 -1e999999999999 1e-400 1e22 1e23 1e-22 1e-23 123456789e-22 123456789e-23',
  ],
])('%s become the nearest double, before any end', (_, texts) => {
  for (const text of texts.split(' '))
    for (const end of ['7', ' ', '\n', '\r', ''])
      expect(read(readValue, text, end), text).toBe(Number(text));
});

test('NaN and the infinities in any case', () => {
  for (const text of ['NaN', 'nan', '-NaN', '+nan']) expect(read(readValue, text), text).toBeNaN();
  for (const text of ['Inf', '+inf', 'INF', 'Infinity', '+infinity'])
    expect(read(readValue, text), text).toBe(Infinity);
  for (const text of ['-inf', '-INF', '-infinity']) expect(read(readValue, text)).toBe(-Infinity);
});

test('text that is not a number of the formats is refused', () => {
  const refused = ' - + . -. e e5 .e5 1e 1e+ 1e- 1e5.0 1.2.3 --1 +-1'.split(' ');
  const hex = ['0x1', '0X1p-3', '0b1', '0o7', '1_000', '1,5', '1f', '1d', '0x', 'x'];
  const words = 'na nano in info infinite --inf true null \u0000 １'.split(' ');
  for (const text of [...refused, ...hex, ...words, ' 1', '1 ', '1\t', '1'.repeat(100_000)])
    for (const end of ['7', ' ', '\n', ''])
      expect(read(readValue, text, end), text.slice(0, 20)).toBe(null);
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
      for (const text of texts)
        for (const end of ['7', '\n']) expect(read(readValue, text, end), text).toBe(Number(text));
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
      for (const end of ['7', '\n']) expect(read(readValue, text, end), text).toBe(Number(text));
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
  const good =
    '0 000 1395066363000 -3982045 +5 9007199254740992 9223372036854775807 -9223372036854775808';
  for (const text of good.split(' ')) expect(read(readMilliseconds, text), text).toBe(Number(text));
  const bad = ['', ...'- 1.5 1e3 0x1 NaN 99999999999999999999'.split(' '), '9'.repeat(5000)];
  for (const text of bad) expect(read(readMilliseconds, text), text).toBe(null);
});

test('seconds become whole milliseconds', () => {
  const good =
    '0 1520879607.789 1.520879607789e9 123.123 0.0004 0.0005 -2 10000000000000000000.1234567890';
  for (const text of good.split(' '))
    expect(read(readSeconds, text), text).toBe(Math.round(Number(text) * 1000));
  for (const text of 'NaN Inf -Inf 1e308 1z'.split(' '))
    expect(read(readSeconds, text), text).toBe(null);
});
