// HTML as a template literal that escapes its values: html`<td>${name}</td>`. Only values made by html`` or new Html()
// are inserted unchanged, so text from the service or the back end never becomes markup.

/** Markup. Only made from texts of this program itself, or by html``. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template. null adds nothing; a list adds its items in order. */
export type HtmlValue = Html | string | number | null | readonly HtmlValue[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Values may be in text and in quoted attributes, never in a tag's name, a script or a style. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const texts = parts.map((part, i) => part + textOf(values[i] ?? null));
  return new Html(texts.join(''));
}

/** Escapes text. Control characters and changes of the writing direction are replaced by U+FFFD. */
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
