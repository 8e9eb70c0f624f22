import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Signal } from '../../../src/model/batch.ts';
import { WIRE, WireWriter } from '../../../src/pipeline/encode/wire.ts';
import {
  bodyFormat,
  MESSAGE_LENGTH_MAX,
  oneLine,
  readErrorMessage,
  readPartialSuccess,
} from '../../../src/pipeline/send/answer.ts';

function partialSuccess(rejected: number, message: string): Buffer {
  const writer = new WireWriter();
  const mark = writer.begin(1);
  writer.tag(1, WIRE.varint);
  writer.varint(rejected);
  writer.string(2, message);
  writer.end(mark);
  return Buffer.from(writer.written());
}

function status(code: number, message: string): Buffer {
  const writer = new WireWriter();
  writer.tag(1, WIRE.varint);
  writer.varint(code);
  writer.string(2, message);
  writer.bytesField(3, Buffer.from('details'));
  return Buffer.from(writer.written());
}

test('Content-Type gives the format', () => {
  const check = (contentType: string, want: string | undefined): void =>
    expect(bodyFormat(contentType)).toBe(want);
  check('application/x-protobuf', 'protobuf');
  check('application/json; charset=utf-8', 'json');
  check('Application/JSON', 'json');
  check('text/html;charset=utf-8', 'html');
  check('text/plain', 'text');
  check('application/grpc', undefined);
  check('', undefined);
});

test('partial success in protobuf', () => {
  const check = (body: Buffer, rejected: number, message: string): void =>
    expect(readPartialSuccess('metrics', 'protobuf', body)).toEqual({ rejected, message });
  check(Buffer.alloc(0), 0, '');
  check(partialSuccess(0, ''), 0, '');
  check(partialSuccess(7, 'too old'), 7, 'too old');
  check(partialSuccess(0, 'use another endpoint'), 0, 'use another endpoint');
  check(partialSuccess(2 ** 40, 'm'), 2 ** 40, 'm');
  // A negative number (ten bytes) counts as 0; unknown fields are skipped.
  const negative = Buffer.from([0x0a, 11, 0x08, ...Array<number>(9).fill(0xff), 0x01]);
  check(negative, 0, '');
  check(Buffer.concat([Buffer.from([0x20, 5]), partialSuccess(3, 'm')]), 3, 'm');
});

test('partial success in JSON, with numbers as strings or not, in either spelling', () => {
  const check = (signal: Signal, json: unknown, rejected: number, message: string): void => {
    const body = Buffer.from(JSON.stringify(json));
    expect(readPartialSuccess(signal, 'json', body)).toEqual({ rejected, message });
  };
  check('metrics', {}, 0, '');
  check('metrics', { partialSuccess: {} }, 0, '');
  check('metrics', { partialSuccess: { rejectedDataPoints: '5', errorMessage: 'm' } }, 5, 'm');
  check('metrics', { partialSuccess: { rejectedDataPoints: 5 } }, 5, '');
  check('logs', { partialSuccess: { rejectedLogRecords: '2' } }, 2, '');
  check('logs', { partialSuccess: { rejectedDataPoints: '2' } }, 0, '');
  check('metrics', { partial_success: { rejected_data_points: 1, error_message: 'm' } }, 1, 'm');
  check('metrics', { partialSuccess: { rejectedDataPoints: -1, errorMessage: 7 } }, 0, '');
  check('metrics', { partialSuccess: null }, 0, '');
  check('metrics', [], 0, '');
});

test('the message of google.rpc.Status, in protobuf and JSON', () => {
  expect(readErrorMessage('protobuf', status(3, 'bad point'))).toBe('bad point');
  expect(readErrorMessage('json', Buffer.from('{"code":3,"message":"bad point"}'))).toBe(
    'bad point',
  );
});

test('other shapes of errors, and plain words', () => {
  const check = (format: 'json' | 'text' | 'html' | undefined, body: string, want: string): void =>
    expect(readErrorMessage(format, Buffer.from(body))).toBe(want);
  check('json', '{"status":"error","error":"out of bounds"}', 'out of bounds');
  check('json', '{"error":{"code":401,"message":"no key"}}', 'no key');
  check('json', '{"errors":[]}', '');
  check('json', 'not json', '');
  check('text', 'out of order sample', 'out of order sample');
  check(undefined, 'out of order sample', 'out of order sample');
  check(undefined, '{"message":"m"}', 'm');
  check('html', '<html>nginx', '');
  check(undefined, '<html>nginx', '');
  check(undefined, '', '');
});

test('a line is printable and bounded', () => {
  expect(oneLine(' a\r\n\tb\u0000c\u001b[0m ')).toBe('a b c [0m');
  expect(oneLine('x'.repeat(MESSAGE_LENGTH_MAX))).toHaveLength(MESSAGE_LENGTH_MAX);
  const cut = oneLine('x'.repeat(MESSAGE_LENGTH_MAX + 1));
  expect(cut).toHaveLength(MESSAGE_LENGTH_MAX);
  expect(cut.endsWith('…')).toBe(true);
  expect(oneLine('x'.repeat(5e6))).toHaveLength(MESSAGE_LENGTH_MAX);
});

test('the readers accept any body', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }),
        fc.json().map(text => Buffer.from(text)),
      ),
      fc.constantFrom('protobuf', 'json', 'text', 'html'),
      (bytes, format) => {
        const body = Buffer.from(bytes);
        const { rejected, message } = readPartialSuccess('logs', format, body);
        expect(rejected).toBeGreaterThanOrEqual(0);
        expect(typeof message).toBe('string');
        expect(typeof readErrorMessage(format, body)).toBe('string');
      },
    ),
    { numRuns: 500 },
  );
});
