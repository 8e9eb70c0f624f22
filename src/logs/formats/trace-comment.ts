// Reads the comments that applications add to their statements, in the form of sqlcommenter: `key='value'`, joined by
// commas, both URL-encoded. In: the comments of a statement, without literals around them. Out: the span that sent the
// statement, and the values of chosen keys. It throws on nothing: a comment in another form says nothing.
// https://google.github.io/sqlcommenter/spec/ and https://www.w3.org/TR/trace-context/

import type { SpanLink } from '../../pipeline/encode/logs.ts';
import { type CommentOptions, type LogAttribute, OWN_PREFIX } from '../record.ts';

/** What the comments of a statement say. */
export interface StatementComments {
  readonly span: SpanLink | null;
  /** There was a `traceparent` that names no span, and none that does. */
  readonly isBadTrace: boolean;
  readonly attributes: readonly LogAttribute[];
}

const NOTHING: StatementComments = { span: null, isBadTrace: false, attributes: [] };
/** A value may contain escaped quotes. */
const PAIR = /([\w%.~-]{1,128})='((?:[^'\\]|\\.){0,1024})'/g;
const TRACE_PARENT = 'traceparent';
/** Version, trace id, span id, flags; later versions may add more. */
const SPAN = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Whether a statement may have comments that say something: most have none. */
export function mayHaveComments(statement: string, { isTracing, keys }: CommentOptions): boolean {
  if (!isTracing && keys.length === 0) return false;
  return statement.includes("='") && statement.includes('/*');
}

/** If several comments name a span, the last one counts: it was added nearest to the database. */
export function readComments(
  comments: readonly string[],
  { isTracing, keys }: CommentOptions,
): StatementComments {
  if (comments.length === 0) return NOTHING;
  const values = new Map<string, string>();
  let span: SpanLink | null = null;
  let isBadTrace = false;
  for (const [, key = '', value = ''] of comments.flatMap(text => [...text.matchAll(PAIR)])) {
    const [name, decoded] = [decode(key), decode(value.replaceAll(/\\(.)/g, '$1'))];
    if (name === null || decoded === null) isBadTrace ||= key === TRACE_PARENT;
    else if (name !== TRACE_PARENT) values.set(name, decoded);
    else {
      const read = readSpan(decoded);
      span = read ?? span;
      isBadTrace ||= read === null;
    }
  }
  const attributes = keys.flatMap(key => {
    const value = values.get(key);
    return value === undefined ? [] : [[`${OWN_PREFIX}query.${key}`, value] as const];
  });
  if (!isTracing) return { ...NOTHING, attributes };
  return { span, isBadTrace: isBadTrace && span === null, attributes };
}

/** Null for ids of zeros, and for what is no `traceparent`. */
function readSpan(value: string): SpanLink | null {
  const [, version = '', traceId = '', spanId = '', flags = '', more = ''] = SPAN.exec(value) ?? [];
  const isVersion = version !== '' && version !== 'ff' && (version !== '00' || more === '');
  if (!isVersion || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
