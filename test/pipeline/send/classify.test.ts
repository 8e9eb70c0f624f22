import { expect, test } from 'vitest';
import { classifyAnswer, type HttpAnswer } from '../../../src/pipeline/send/classify.ts';

const NOW_MS = Date.UTC(2026, 2, 4, 9);

function classify(answer: Partial<HttpAnswer>) {
  return classifyAnswer(
    { status: 200, contentType: '', retryAfter: '', body: Buffer.alloc(0), ...answer },
    {
      signal: 'metrics',
      requestFormat: 'protobuf',
      nowMs: NOW_MS,
      redact: text => text.replaceAll('hunter2', '[secret]'),
    },
  );
}

/** The result of a status alone: its kind, and the other fields that matter for this kind. */
test.each<[want: object, ...statuses: number[]]>([
  [{ kind: 'accepted', rejected: 0, message: '' }, 200, 201, 202, 204, 206],
  [{ kind: 'retry', pauses: 'signal' }, 408, 429, 502, 504],
  [{ kind: 'retry', pauses: 'endpoint' }, 503],
  [{ kind: 'settings' }, 401, 402, 404, 405, 407, 415],
  [{ kind: 'settings' }, 300, 301, 302, 303, 304, 307, 308],
  [{ kind: 'too_large' }, 413],
  [{ kind: 'refused' }, 400, 403, 422, 406, 409, 410, 411, 418, 431, 451],
  [{ kind: 'unknown' }, 500, 501, 505, 507, 508, 511, 529, 599],
])('every status has its kind: %o', (want, ...statuses) => {
  for (const status of statuses) expect(classify({ status }), String(status)).toMatchObject(want);
});

test('a success that is a web page does not count, unless it is empty or OK', () => {
  const body = Buffer.from('<html>log in');
  for (const contentType of ['text/html', 'text/html; charset=utf-8'])
    expect(classify({ contentType, body })).toMatchObject({ kind: 'settings' });
  const page = Buffer.from('\uFEFF\r\n<!DOCTYPE html>');
  for (const contentType of ['', 'text/plain', 'application/xhtml+xml', 'application/json'])
    expect(classify({ contentType, body: page })).toMatchObject({ kind: 'settings' });
  for (const text of ['', ' \n', 'OK', 'ok\n'])
    expect(classify({ contentType: 'text/html', body: Buffer.from(text) }).kind).toBe('accepted');
  // A partial success of 60 bytes begins like a blank line with `<`.
  const partial = `\n<\u0008\u0005\u0012\u0038${'m'.repeat(56)}`;
  for (const text of ['', ' ', '{}', 'ok', partial])
    expect(classify({ body: Buffer.from(text) })).toMatchObject({ kind: 'accepted' });
});

test('Retry-After is read in seconds and as a date, for statuses that are retried', () => {
  const check = (status: number, retryAfter: string, want: number | null): void =>
    expect(classify({ status, retryAfter })).toMatchObject({ kind: 'retry', retryAfterMs: want });
  check(429, '7', 7000);
  check(503, 'Wed, 04 Mar 2026 09:00:30 GMT', 30_000);
  check(502, 'Wed, 04 Mar 2026 08:00:00 GMT', 0);
  check(504, '', null);
  check(503, 'soon', null);
});

test("the reason has the status, the back end's words in one line, and a hint", () => {
  const check = (status: number, body: string, want: string): void =>
    expect(classify({ status, body: Buffer.from(body) })).toMatchObject({ reason: want });
  check(400, 'out of\n\u001b[1m order', 'the back end answered 400: out of [1m order');
  check(401, '', 'the back end answered 401; check otlp.headers');
  check(404, 'no such path', 'the back end answered 404: no such path; check otlp.endpoint');
  check(302, 'moved', 'the back end answered 302: redirects are not followed; check otlp.endpoint');
  check(503, '', 'the back end answered 503');
  const hint =
    'if this is Prometheus, set storage.tsdb.out_of_order_time_window there, see docs/back-ends/settings.md';
  for (const words of ['out of order sample', 'too old sample', 'out of bounds'])
    check(400, words, `the back end answered 400: ${words}; ${hint}`);
  const future = 'out of bounds: timestamp is too far in the future';
  check(400, future, `the back end answered 400: ${future}`);
});

test('words are redacted before they are truncated', () => {
  const body = Buffer.from(`${'x'.repeat(296)} hunter2 and more`);
  const { reason } = classify({ status: 403, body }) as { reason: string };
  expect(reason).not.toContain('hun');
  expect(reason.length).toBeLessThan(400);
});
