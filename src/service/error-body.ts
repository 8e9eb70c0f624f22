// The little that is shown of an error answer's body: the service's own message and its trace id, cut to a
// line. Bodies come in a few shapes, seen or specified; whatever has none of them shows nothing, so that no
// page of HTML ends up in a log.

import type { Redact } from './redact.ts';

export interface ErrorBody {
  readonly message?: string;
  readonly traceId?: string;
}

const MESSAGE_LENGTH_MAX = 200;

/**
 * Reads `{errors: [{error, message}], trace_id}`, `{detail: [{loc, msg}]}` (and their plain forms `{message}`,
 * `{error}`, `{detail}`), else nothing. It never throws.
 */
export function readErrorBody(body: Buffer, redact: Redact): ErrorBody {
  const root = asObject(parseJson(body.toString('utf8')));
  if (root === undefined) return {};
  const text = (value: unknown): string | undefined => shownText(value, redact);
  const first = asObject(asArray(root['errors'])[0]);
  const message =
    text(first?.['message']) ??
    text(first?.['error']) ??
    text(detailOf(root['detail'])) ??
    text(root['message']) ??
    text(root['error']);
  const traceId = text(root['trace_id']) ?? text(root['traceId']);
  return {
    ...(message === undefined ? {} : { message }),
    ...(traceId === undefined || !/^[\w.-]{1,64}$/.test(traceId) ? {} : { traceId }),
  };
}

function detailOf(detail: unknown): unknown {
  const first = asObject(asArray(detail)[0]);
  if (first === undefined) return detail;
  const place = asArray(first['loc']).map(String).join('.');
  const message = first['msg'];
  return typeof message !== 'string' || place === '' ? message : `${place}: ${message}`;
}

/** One printable line, redacted, then cut where it gets long; undefined for what is no text or only blanks. */
function shownText(value: unknown, redact: Redact): string | undefined {
  if (typeof value !== 'string') return undefined;
  const line = redact(value)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  if (line === '') return undefined;
  if (line.length <= MESSAGE_LENGTH_MAX) return line;
  return `${line.slice(0, MESSAGE_LENGTH_MAX).toWellFormed()}…`;
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
