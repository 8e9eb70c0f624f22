import { expect, test } from 'vitest';
import { html, Html, type HtmlValue } from '../../src/status/html.ts';

test('values in a template are text, unless a template made them', () => {
  const check = (value: HtmlValue, want: string): void =>
    expect(html`<td title="${value}">${value}</td>`.text).toBe(`<td title="${want}">${want}</td>`);
  check('orders', 'orders');
  check(12, '12');
  check(0, '0');
  check(null, '');
  check('', '');
  check('<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;');
  check(`" onclick='x' &amp;`, '&quot; onclick=&#39;x&#39; &amp;amp;');
  check(html`<b>${'<'}</b>`, '<b>&lt;</b>');
  check(new Html('<br>'), '<br>');
  check(['<', html`<i>`, [1, null]], '&lt;<i>1');
});

test('control and direction characters are shown visibly', () => {
  const check = (text: string, want: string): void => expect(html`${text}`.text).toBe(want);
  check('a\u0000b\u001B[31m', 'a\uFFFDb\uFFFD[31m');
  check('gpj.\u202Eexe', 'gpj.\uFFFDexe');
  check('two\nlines\tand a tab', 'two\nlines\tand a tab');
  check('سلام 数据 👩‍💻', 'سلام 数据 👩‍💻');
});
