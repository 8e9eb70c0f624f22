import { expect, test } from 'vitest';
import { readErrorBody, type ErrorBody } from '../../src/service/service-error.ts';

function check(body: string, want: ErrorBody): void {
  const redact = (text: string): string => text.replaceAll('hunter2', '[secret]');
  expect(readErrorBody(Buffer.from(body), redact), body).toEqual(want);
}

test('the message and the trace id are found in every known shape', () => {
  check(
    '{"errors":[{"error":"E1","message":"no such service"}],"exception":"X","code":404,"trace_id":"a1-b2"}',
    { message: 'no such service', traceId: 'a1-b2' },
  );
  check('{"errors":[{"error":"E1"}]}', { message: 'E1' });
  check('{"detail":[{"loc":["body","config",0],"msg":"field required","type":"x"}]}', {
    message: 'body.config.0: field required',
  });
  check('{"detail":[{"msg":"field required"}]}', { message: 'field required' });
  check('{"detail":"not authenticated"}', { message: 'not authenticated' });
  check('{"message":"m","traceId":"t"}', { message: 'm', traceId: 't' });
  check('{"error":"e"}', { message: 'e' });
});

test('a body of unknown shape shows nothing', () => {
  for (const body of [
    '',
    'plain text',
    '<html><body>502</body></html>',
    '{"cut',
    'null',
    '[]',
    '[{"message":"x"}]',
    '"message"',
    '{"errors":{}}',
    '{"errors":[null]}',
    '{"message":{"a":1},"error":5,"detail":[[]]}',
    '{"message":" \\n "}',
    '{"trace_id":"with spaces"}',
    '{"trace_id":7}',
  ])
    check(body, {});
});

test('a long message is truncated after secrets are removed', () => {
  check(JSON.stringify({ message: 'x'.repeat(300) }), { message: `${'x'.repeat(200)}…` });
  check(JSON.stringify({ message: `${'x'.repeat(196)}hunter2` }), {
    message: `${'x'.repeat(196)}[sec…`,
  });
  check(JSON.stringify({ message: `${'x'.repeat(199)}😀` }), {
    message: `${'x'.repeat(199)}\ufffd…`,
  });
});

test('control characters and line breaks become blanks', () => {
  check(JSON.stringify({ message: ' a\r\nb\u001b[1mc\u0000\u202e ' }), { message: 'a b [1mc' });
});
