import { describe, expect, test } from 'vitest';
import { cssVariables, type Palette, PALETTES } from '../../src/status/palette.ts';
import { PAGE_STYLE } from '../../src/status/page-assets.ts';

/** The relative luminance of #rrggbb, from 0 to 1 (WCAG 2.1). */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

test('contrast is computed as WCAG defines it', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

describe.each(Object.entries(PALETTES))('in the %s scheme', (_, palette) => {
  const check = (
    least: number,
    pairs: readonly (readonly [keyof Palette, keyof Palette])[],
  ): void => {
    for (const [front, back] of pairs)
      expect(contrast(palette[front], palette[back]), `${front} on ${back}`).toBeGreaterThanOrEqual(
        least,
      );
  };

  test('text has 4.5', () => {
    const grounds = ['paper', 'card'] as const;
    check(4.5, [
      ...(['ink', 'faint'] as const).flatMap(text =>
        [...grounds, 'busyPaper' as const].map(ground => [text, ground] as const),
      ),
      ['good', 'goodPaper'],
      ['warn', 'warnPaper'],
      ['bad', 'badPaper'],
      ['busy', 'busyPaper'],
    ]);
  });

  test('bars and borders with a meaning have 3', () => {
    const marks = ['good', 'warn', 'bad', 'busy', 'faint', 'bar', 'edge'] as const;
    check(
      3,
      marks.flatMap(mark => [[mark, 'paper'] as const, [mark, 'card'] as const]),
    );
  });

  test('the style has these colours', () => {
    expect(PAGE_STYLE).toContain(cssVariables(palette));
  });
});

test('the style has no other colour, but for shadows', () => {
  const rules = PAGE_STYLE.replace(/--[\w-]+: [^;]*;/g, '');
  expect(rules).not.toMatch(/:[^;{}]*(?:#[0-9a-f]{3}|rgb\()/);
});
