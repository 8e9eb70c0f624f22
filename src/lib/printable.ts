// Makes foreign text safe to print: without characters that control a terminal, or that change the direction of text so
// that it reads differently. The exits of the program call it: the output of verbs, the log, the status server. Also
// removes possible secrets from URLs.

import { styleText } from 'node:util';

/** Does not match line breaks. */
const HARMFUL = /(?!\n)[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;

export function printableLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(HARMFUL, '?');
}

/** The text with its line breaks; a tab becomes two blanks. */
export function printableText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replaceAll('\t', '  ').replace(HARMFUL, '?');
}

/** Text for a terminal, where tabs and the styles of the program's own words stay. */
export function printableOutput(text: string): string {
  const isOwn = (character: string, at: number): boolean =>
    character === '\t' || STYLES.some(style => text.startsWith(style, at));
  return text.replace(HARMFUL, (character, at: number) => (isOwn(character, at) ? character : '?'));
}

/** Bold and colours, as styleText writes them. */
const STYLES: readonly string[] = ['1', '22', '31', '32', '33', '39'].map(
  code => `\u001B[${code}m`,
);

/** JSON text with such characters escaped. */
export function escapeHarmful(json: string): string {
  return json.replace(HARMFUL, escapeCharacter);
}

/** A value as JSON with such characters escaped; in one line where the indent is 0. */
export function printableJson(value: unknown, indent = 2): string {
  return escapeHarmful(JSON.stringify(value, null, indent));
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Replaces the user, the password and the values of the query in a text that may be a URL or a path. */
export function withoutUrlSecrets(text: string): string {
  const clean = text.replaceAll(/:\/\/[^\s/]*@/g, '://[secret]@');
  return clean.replaceAll(/([?&][\w.~%[\]-]+=)[^\s&#"]+/g, '$1[secret]');
}

/** An http(s) URL without user, password and query. */
export function printableUrl(text: string): string {
  const url = new URL(text);
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}

// Whether a stream gets colours: only a terminal does, unless the environment decides.

/** FORCE_COLOR decides, else NO_COLOR, else the ability of the terminal. See no-color.org and force-color.org. */
export function wantsColour(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const { FORCE_COLOR: force = '', NO_COLOR: no = '', TERM: term } = environment;
  if (force !== '') return force !== '0' && force !== 'false';
  return no === '' && isTerminal && term !== 'dumb';
}

/** The styles of the program's own words, which printableOutput() lets through. */
export type Style = 'bold' | 'red' | 'yellow' | 'green';

export function painted(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false });
}
