// Text of somebody else made safe to print: without the characters that make a terminal do something, or that turn
// a line around so that it reads as another.

const HARMFUL = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;

/** In one line. */
export function printableLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(HARMFUL, '?');
}

/** With its line breaks; a tab becomes two blanks. */
export function printableText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replaceAll('\t', '  ')
    .split('\n')
    .map(line => line.replace(HARMFUL, '?'))
    .join('\n');
}

/** A value as indented JSON, in which such characters stand as escapes. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .split('\n')
    .map(line => line.replace(HARMFUL, escapeCharacter))
    .join('\n');
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
