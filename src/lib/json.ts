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

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

export function parseJson(text: string, reviver?: Reviver): unknown {
  try {
    // TypeScript's declaration lacks the context.
    return JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]);
  } catch {
    // The error's message would repeat a part of the text.
    return undefined;
  }
}

/** Like parseJson, but a number that JavaScript would round remains a text, such as an id of 64 bits in a row. */
export function parseExactJson(text: string): unknown {
  return parseJson(text, (_, value, { source = '' }) =>
    typeof value === 'number' && isRounded(value, source) ? source : value,
  );
}

function isRounded(value: number, source: string): boolean {
  const digits = digitsOf(source);
  return !Number.isFinite(value) || (digits.length > 15 && digits !== digitsOf(String(value)));
}

/** The significant digits of a number. */
function digitsOf(text: string): string {
  return text.replaceAll(/e.*|[-.]/gi, '').replaceAll(/^0+|0+$/g, '');
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The members of an object; none for any other value. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}
