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

  test('integers, fractions and exponents', () => {
    check('0', 0);
    check('7', 7);
    check('-7', -7);
    check('+7', 7);
    check('1234567890123', 1234567890123);
    check('0.5', 0.5);
    check('.5', 0.5);
    check('5.', 5);
    check('-.5', -0.5);
    check('1e3', 1000);
    check('1E3', 1000);
    check('1.e3', 1000);
    check('1e+3', 1000);
    check('25e-3', 0.025);
    check('3.14e+42', 3.14e42);
  });

  test('leading and trailing zeros change nothing', () => {
    check('0000000000000000000000000000000000000000001', 1);
    check('0000000000000000000000000000000000000000001.2e-1', 0.12);
    check('1.500000000000000000000000000000000000', 1.5);
    check('0.000000000000000000000000000000000001', 1e-36);
    check(`${'0'.repeat(900)}1`, 1);
  });

  test('the two zeros stay apart', () => {
    check('-0', -0);
    check('-0.0e5', -0);
    check('+0', 0);
    check('0e999999999', 0);
  });

  test('mantissas of 15 to 20 digits become the nearest double', () => {
    check('999999999999999', 999999999999999);
    check('9007199254740993', 9007199254740992);
    check('9007199254740995', 9007199254740996);
    check('123456789012345678', 123456789012345680);
    check('0.1234567890123456789', 0.12345678901234568);
    check('18446744073709551615', 18446744073709552000);
    check('56.12904785000000001', 56.12904785);
    check('3.644546508789066', 3.644546508789066);
    check('900719925474099.1', 900719925474099.1);
    check('9.007199254740993', 9.007199254740993);
    check('0.9007199254740995e-6', 0.9007199254740995e-6);
    check('90071992547409930e-1', Number('9007199254740993'));
  });

  test('halfway cases round to even', () => {
    check('9007199254740993.0', 9007199254740992);
    check('9007199254740993.00000000000000000000000000000001', 9007199254740994);
    check('1.00000000000000011102230246251565404236316680908203125', 1);
    check('1.00000000000000011102230246251565404236316680908203126', 1.0000000000000002);
    check('2.5e-324', 5e-324);
    check('2.4703282292062327208e-324', 0);
    check('2.4703282292062328e-324', 5e-324);
  });

  test('subnormals, overflow and underflow', () => {
    check('5e-324', 5e-324);
    check('2.2250738585072011e-308', 2.225073858507201e-308);
    check('2.2250738585072014e-308', 2.2250738585072014e-308);
    check('1.7976931348623157e308', Number.MAX_VALUE);
    check('1.7976931348623159e308', Infinity);
    check('1e400', Infinity);
    check('-1e999999999999', -Infinity);
    check('1e-400', 0);
    check('1e22', 1e22);
    check('1e23', 1e23);
    check('123456789e-22', 123456789e-22);
    check('123456789e-23', 123456789e-23);
  });

  test('NaN and the infinities in any case', () => {
    check('NaN', Number.NaN);
    check('nan', Number.NaN);
    check('Inf', Infinity);
    check('+inf', Infinity);
    check('-INF', -Infinity);
    check('Infinity', Infinity);
    check('-infinity', -Infinity);
  });

  test('text that is not a number of the formats is refused', () => {
    const refused = ' - + . -. e e5 .e5 1e 1e+ 1e- 1e5.0 1.2.3 --1 +-1'.split(' ');
    const hex = ['0x1', '0X1p-3', '0b1', '0o7', '1_000', '1,5', '1f', '1d', '0x', 'x'];
    const words = [
      'na',
      'nano',
      'in',
      'info',
      'infinite',
      'true',
      'null',
      ' 1',
      '1 ',
      '1\t',
      '\u0000',
      '１',
    ];
    for (const text of [...refused, ...hex, ...words])
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
  const check = (text: string, want: number | null): void => {
    expect(read(readMilliseconds, text), text).toBe(want);
  };
  check('0', 0);
  check('000', 0);
  check('1395066363000', 1_395_066_363_000);
  check('-3982045', -3_982_045);
  check('+5', 5);
  check('9007199254740992', 2 ** 53);
  check('9223372036854775807', 2 ** 63);
  check('-9223372036854775808', -(2 ** 63));
  check('', null);
  check('-', null);
  check('1.5', null);
  check('1e3', null);
  check('0x1', null);
  check('NaN', null);
  check('99999999999999999999', null);
  check('9'.repeat(5000), null);
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
  check('NaN', null);
  check('Inf', null);
  check('-Inf', null);
  check('1e308', null);
  check('1z', null);
});
