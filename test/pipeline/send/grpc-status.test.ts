import { status as codes } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import {
  classifyGrpcAnswer,
  readRetryDelay,
  type GrpcAnswer,
} from '../../../src/pipeline/send/otlp-grpc.ts';
import { retryInfo } from '../../support/status-details.ts';

const redact = (text: string): string => text.replaceAll('hush', '[secret]');

function classify(
  code: number,
  answer: Partial<GrpcAnswer> = {},
): ReturnType<typeof classifyGrpcAnswer> {
  const none = { details: '', statusDetails: Buffer.alloc(0), body: Buffer.alloc(0) };
  return classifyGrpcAnswer({ ...none, ...answer, code }, { signal: 'metrics', redact });
}

test('every code has the reaction of the mapping', () => {
  const check = (want: object, ...names: (keyof typeof codes)[]): void => {
    for (const name of names) expect(classify(codes[name]), name).toMatchObject(want);
  };
  check({ kind: 'accepted' }, 'OK');
  check({ kind: 'retry' }, 'CANCELLED', 'DEADLINE_EXCEEDED', 'ABORTED', 'OUT_OF_RANGE');
  check({ kind: 'retry' }, 'UNAVAILABLE', 'DATA_LOSS');
  check({ kind: 'refused' }, 'INVALID_ARGUMENT');
  check({ kind: 'settings' }, 'UNAUTHENTICATED', 'PERMISSION_DENIED', 'UNIMPLEMENTED');
  const failure = { kind: 'unknown' };
  check(failure, 'RESOURCE_EXHAUSTED', 'UNKNOWN', 'INTERNAL', 'ALREADY_EXISTS');
  check(failure, 'FAILED_PRECONDITION', 'NOT_FOUND');
  const reason = 'the back end answered status 99';
  expect(classify(99)).toEqual({ ...failure, status: 99, reason });
  expect(Object.keys(codes).filter(name => Number.isNaN(Number(name)))).toHaveLength(17);
});

test("the back end's words are shown with its code and a remedy, without secrets", () => {
  const said = 'the back end answered';
  const hold = { kind: 'settings', status: 16 };
  const refused = `${said} UNAUTHENTICATED: no key "[secret]"; check otlp.headers`;
  const unknown = classify(codes.UNAUTHENTICATED, { details: 'no key "hush"\n' });
  expect(unknown).toEqual({ ...hold, reason: refused });
  const retry = { kind: 'retry', status: 14, retryAfterMs: null, pauses: 'endpoint' };
  const starting = classify(codes.UNAVAILABLE, { details: 'starting' });
  expect(starting).toEqual({ ...retry, reason: `${said} UNAVAILABLE: starting` });
});

test("a message larger than the server's limit is split", () => {
  const check = (code: number, details: string, kind: string): void => {
    expect([details, classify(code, { details }).kind]).toEqual([details, kind]);
  };
  const { RESOURCE_EXHAUSTED, OUT_OF_RANGE, UNAVAILABLE } = codes;
  check(RESOURCE_EXHAUSTED, 'grpc: received message larger than max (5 vs. 4)', 'too_large');
  check(
    RESOURCE_EXHAUSTED,
    'grpc: received message after decompression larger than max 4',
    'too_large',
  );
  check(RESOURCE_EXHAUSTED, 'gRPC message exceeds maximum size 4: 5', 'too_large');
  check(RESOURCE_EXHAUSTED, 'Received message exceeds the maximum configured size.', 'too_large');
  check(
    RESOURCE_EXHAUSTED,
    'Received message that decompresses to a size larger than 4',
    'too_large',
  );
  check(OUT_OF_RANGE, 'Error, decoded message length too large: found 5 bytes', 'too_large');
  check(RESOURCE_EXHAUSTED, 'quota exceeded', 'unknown');
  check(OUT_OF_RANGE, 'too far', 'retry');
  check(UNAVAILABLE, 'message larger than max', 'retry');
});

describe('RetryInfo', () => {
  test('it makes RESOURCE_EXHAUSTED a retry after its delay', () => {
    const statusDetails = retryInfo(30, 5e8);
    const want = { kind: 'retry', retryAfterMs: 30_500 };
    expect(classify(codes.RESOURCE_EXHAUSTED, { statusDetails })).toMatchObject(want);
    expect(classify(codes.UNAVAILABLE, { statusDetails })).toMatchObject(want);
    expect(classify(codes.INTERNAL, { statusDetails })).toMatchObject({ kind: 'unknown' });
    const details = 'grpc: received message larger than max';
    expect(classify(codes.RESOURCE_EXHAUSTED, { statusDetails, details }).kind).toBe('too_large');
  });

  test('its delay is read in milliseconds, never negative', () => {
    const check = (details: Buffer, want: number | null): void => {
      expect(readRetryDelay(details)).toBe(want);
    };
    check(Buffer.alloc(0), null);
    check(retryInfo(1, 0), 1000);
    check(retryInfo(0, 1), 1);
    check(retryInfo(0, 0), 0);
    check(retryInfo(null, null), 0);
    check(retryInfo(-5, 0), 0);
    check(retryInfo(1, 0, 'type.googleapis.com/google.rpc.Help'), null);
    check(Buffer.from('not protobuf'), null);
    check(retryInfo(315_576_000_000, 0), 315_576_000_000_000);
    for (let end = 1; end < retryInfo(1, 0).length; end++)
      expect([null, 0, 1000]).toContain(readRetryDelay(retryInfo(1, 0).subarray(0, end)));
  });
});
