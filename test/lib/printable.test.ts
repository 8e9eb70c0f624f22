import { expect, test } from 'vitest';
import {
  escapeHarmful,
  printableJson,
  printableLine,
  printableOutput,
  printableText,
  withoutUrlSecrets,
} from '../../src/lib/printable.ts';

const ESCAPE = '\u001B[2J';
const TURNED = '\u202Edrow\u202C';

test('a line stays one line, without control characters', () => {
  expect(printableLine(`a\n b${ESCAPE}`)).toBe('a b?[2J');
  expect(printableLine(TURNED)).toBe('?drow?');
  expect(printableLine('\u009B31m')).toBe('?31m');
});

test('a text keeps only its line breaks', () => {
  expect(printableText(`a\r\nb\rc\td${ESCAPE}`)).toBe('a\nb\nc  d?[2J');
  expect(printableText('\u0007\u0000')).toBe('??');
});

test('an output keeps its tabs and its own styles', () => {
  expect(printableOutput(`\u001B[31mred\u001B[39m\t${ESCAPE}\u001B[8m\n${TURNED}\u009B`)).toBe(
    '\u001B[31mred\u001B[39m\t?[2J?[8m\n?drow??',
  );
});

test('JSON text keeps its meaning', () => {
  expect(JSON.parse(escapeHarmful(`["\u009B${TURNED}"]`))).toEqual([`\u009B${TURNED}`]);
  expect(escapeHarmful(`["\u009B"]`)).toBe(String.raw`["\u009b"]`);
});

test('JSON keeps its meaning and contains no control characters', () => {
  const value = { text: `x${ESCAPE}\u009B${TURNED}\n` };
  const json = printableJson(value);
  expect(JSON.parse(json)).toEqual(value);
  // The only line breaks are between members.
  expect(json.replaceAll('\n', '')).toMatch(/^[^\p{Cc}\u202A-\u202E]*$/u);
});

test.each([
  [
    'http://u:pass@h/x?api_key=abc&tenant=1',
    'http://[secret]@h/x?api_key=[secret]&tenant=[secret]',
  ],
  ['h/ x?key=abc', 'h/ x?key=[secret]'],
  ['/metrics?token=abc#end', '/metrics?token=[secret]#end'],
  ['^(?:a|b)?c$', '^(?:a|b)?c$'],
])('%s is shown as %s', (text, shown) => expect(withoutUrlSecrets(text)).toBe(shown));
