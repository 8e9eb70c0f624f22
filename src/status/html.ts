// HTML as a template literal whose values are escaped: html`<td>${name}</td>`. Only what html`` itself has made, or
// rawHtml was given, goes in as it is, so text from the service or the back end can never become markup.

/** A piece of HTML that is safe to put into a page. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template: null adds nothing, a list adds its parts in order. */
export type HtmlValue = Html | string | number | null | readonly HtmlValue[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Quoted attributes and text between tags only: never put a value into a tag's name, a script or a style. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const texts = parts.map((part, i) => part + textOf(values[i] ?? null));
  return new Html(texts.join(''));
}

/** Text of this program that is HTML already. */
export function rawHtml(text: string): Html {
  return new Html(text);
}

/** Escapes text; characters that control a screen or turn a line around become visible instead. */
function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, character => ENTITIES[character] ?? '')
    .replace(/(?![\t\n])[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, '\uFFFD');
}

function textOf(value: HtmlValue): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return value.map(textOf).join('');
}
