// What an answer is: by its Content-Type and its first bytes, never more. A page is read all the same when
// only its type is odd; what can be no page at all (a login form, an error in JSON) has a reason of its own,
// which says more than ten thousand bad lines would.

import type { ExpositionFormat } from '../../model/page.ts';

export type Recognized =
  | {
      readonly kind: 'page';
      readonly format: ExpositionFormat;
      /** What is odd about its Content-Type, to be said once, or null. */
      readonly notice: string | null;
    }
  | { readonly kind: 'empty' }
  | {
      readonly kind: 'not_metrics';
      /** `a web page`, `JSON`, `binary data`. */
      readonly what: string;
    };

/** No more of a body is looked at, however it begins. */
const LOOKED_AT_BYTES = 1024;
/** With the three bytes of a byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/** Tells the two text formats and what is neither apart. The words never repeat what the answer says. */
export function recognize(body: Buffer, contentType: string): Recognized {
  const head = body.subarray(0, LOOKED_AT_BYTES);
  const start = head.findIndex(byte => !BLANKS.has(byte));
  if (start === -1 && head.length === body.length) return { kind: 'empty' };
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const what = strangerOf(head, start, type);
  if (what !== null) return { kind: 'not_metrics', what };
  const format = type === 'application/openmetrics-text' ? 'openmetrics' : 'text';
  return { kind: 'page', format, notice: noticeOf(type) };
}

function strangerOf(head: Buffer, start: number, type: string): string | null {
  const first = String.fromCharCode(head[start] ?? 0x20);
  if (first === '<') return 'a web page';
  // A quoted metric name begins with the same brace as JSON does: there the type decides.
  if (first === '[' || (first === '{' && type.endsWith('json'))) return 'JSON';
  return head.includes(0) || type === 'application/vnd.google.protobuf' ? 'binary data' : null;
}

function noticeOf(type: string): string | null {
  if (type === 'application/openmetrics-text' || type === 'text/plain') return null;
  const problem = type === '' ? 'has no Content-Type' : 'has a Content-Type of neither text format';
  return `the page ${problem}; it is read as Prometheus text 0.0.4`;
}
