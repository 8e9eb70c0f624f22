// Reads one value out of parsed JSON by a JSON pointer (RFC 6901), whose text has been checked before.

/** A pointer taken apart: the names to follow, outermost first; [] is the whole. */
export type JsonPointer = readonly string[];

/** Takes `/a/b~1c` apart; '' is the whole document. The text begins with a slash or is empty. */
export function parsePointer(text: string): JsonPointer {
  if (text === '') return [];
  return text
    .slice(1)
    .split('/')
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What the pointer leads to, or undefined. Only own members are followed, and indexes without leading zeros. */
export function follow(pointer: JsonPointer, json: unknown): unknown {
  let value = json;
  for (const token of pointer) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(token)) return undefined;
    if (!Object.hasOwn(value, token)) return undefined;
    value = (value as Record<string, unknown>)[token];
  }
  return value;
}
