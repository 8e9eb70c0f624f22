import { expect, test } from 'vitest';
import { recognize } from '../../../src/pipeline/collect/scrape.ts';

function check(body: string | Buffer, contentType: string, want: string): void {
  const recognized = recognize(Buffer.from(body), contentType);
  const got = recognized.kind === 'page' ? recognized.format : recognized.what;
  expect(got, `${contentType}: ${String(body).slice(0, 40)}`).toBe(want);
}

test('the type decides between the two formats', () => {
  check('engine_up 1\n', 'text/plain', 'text');
  check('engine_up 1\n', 'text/plain; version=0.0.4; charset=utf-8', 'text');
  check('engine_up 1\n', 'TEXT/PLAIN', 'text');
  check('# EOF\n', 'application/openmetrics-text; version=1.0.0; charset=utf-8', 'openmetrics');
  check('# EOF\n', 'Application/OpenMetrics-Text', 'openmetrics');
});

test('a page with a missing or odd type is read as text', () => {
  for (const type of ['', 'text/html', 'application/json', 'application/octet-stream', 'garbage'])
    check('engine_up 1\n', type, 'text');
});

test('quoted names begin with a brace and are not JSON', () => {
  check('{"engine.up"} 1\n', 'text/plain', 'text');
  check('{"engine.up"} 1\n', 'application/openmetrics-text', 'openmetrics');
});

test('other content is reported by its kind', () => {
  check('<!DOCTYPE html><html></html>', 'text/html', 'a web page');
  check('<html>', 'text/plain', 'a web page');
  check('\ufeff\r\n  <?xml version="1.0"?>', '', 'a web page');
  check('{"errors":[]}', 'application/json; charset=utf-8', 'JSON');
  check('{"title":""}', 'application/problem+json', 'JSON');
  check('[]', 'text/plain', 'JSON');
  check('\n\u0005abc', 'application/vnd.google.protobuf; encoding=delimited', 'binary data');
});

test('a NUL or another control character is left to decode, which drops its line', () => {
  check('\u0000\nengine_up 1\n', 'text/plain', 'text');
  check('engine_up{a="\u0000"} 1\nengine_up 1\n', 'text/plain', 'text');
});

test('a page of blanks is empty', () => {
  check('', 'text/plain', 'empty');
  check(' \r\n\t\n', 'text/plain', 'empty');
  check('\ufeff', '', 'empty');
  check('', 'text/html', 'empty');
});

test('a page of blanks without end is not searched to its end', () => {
  check(Buffer.alloc(50_000_000, ' '), 'text/plain', 'text');
});
