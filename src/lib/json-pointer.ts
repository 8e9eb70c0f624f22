// Reads parsed JSON of any shape: by a valid JSON pointer (RFC 6901), or member by member.

/** The tokens of a pointer, outermost first; [] is the whole document. */
export type JsonPointer = readonly string[];

/** Parses a text such as `/a/b~1c`, which begins with a slash or is empty. */
export function parsePointer(text: string): JsonPointer {
  if (text === '') return [];
  return text
    .slice(1)
    .split('/')
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at the pointer, or undefined. Follows only own members, and indexes without leading zeros. */
export function follow(pointer: readonly PropertyKey[], json: unknown): unknown {
  let value = json;
  for (const token of pointer) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(String(token))) return undefined;
    if (!Object.hasOwn(value, token)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[token];
  }
  return value;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The error's message would repeat a part of the text.
    return undefined;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of an object; none for any other value. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}
