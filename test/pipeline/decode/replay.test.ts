// A repeated page is read only where it differs from the one before; what is read there must be what the full function
// reads. That both paths agree on whole pages is test/fuzz/repeating.test.ts.

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Replay } from '../../../src/pipeline/decode/replay.ts';
import { bug } from '../../../src/errors.ts';
import { decodePage, pageOf } from '../../support/decode-page.ts';

/** What a replay reads where another number stood, or how it ended. */
function replayed(number: string): number | string {
  const { table } = decodePage('a 1\nb 2\n');
  const layout = table.layout ?? bug('the page has no layout');
  const replay = new Replay(pageOf(`a ${number}\nb 2\n`), table, layout);
  const end = replay.step(2);
  return end === 'done' ? (table.value[0] ?? '') : end;
}

describe('numbers of a repeated page', () => {
  test('are read to the last bit, however they are written', () => {
    const numbers =
      '0 0.0 7 1.5 .5 5. -0 +1 123456789012345 1234567890123456 1e+05 1.234567e+06 9e+22 9e+23 1e+5 1e5 1e-07 ' +
      '1E+05 1e+005 0e+99 1.23456789e+22 123456789012345e+22 1.7976931348623157e+308 5e-324';
    const texts = numbers.split(' ');
    expect(texts.map(replayed)).toStrictEqual(texts.map(Number));
  });

  test('with mantissas and exponents of any kind', () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 17n }).map(String);
    const place = fc.nat(17);
    const exponent = fc.integer({ min: 0, max: 30 }).map(e => String(e).padStart(2, '0'));
    fc.assert(
      fc.property(digits, place, exponent, (text, at, e) => {
        const dot = 1 + (at % text.length);
        const mantissa = dot < text.length ? `${text.slice(0, dot)}.${text.slice(dot)}` : text;
        for (const number of [mantissa, `${mantissa}e+${e}`, `${mantissa}e-${e}`])
          expect([number, replayed(number)]).toStrictEqual([number, Number(number)]);
      }),
    );
  });

  test('what is no number surprises it', () => {
    for (const text of ['', '.', '1e', '1e+', '1e+x5', '1e+0x', '1e+05x', '1,5', '0x1', '1.2.3'])
      expect([text, replayed(text)]).toStrictEqual([text, 'surprised']);
  });
});
