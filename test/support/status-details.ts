// The trailer `grpc-status-details-bin` as servers send it, for tests: a google.rpc.Status with one detail.

import protobuf from 'protobufjs';

const { root } = protobuf.parse(`
  syntax = "proto3";
  message Duration { int64 seconds = 1; int32 nanos = 2; }
  message RetryInfo { Duration retry_delay = 1; }
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
`);

/** A RetryInfo; if `seconds` is null, it has no delay. */
export function retryInfo(
  seconds: number | null,
  nanos: number | null,
  typeUrl = 'type.googleapis.com/google.rpc.RetryInfo',
): Buffer {
  const delay = seconds === null ? {} : { retryDelay: { seconds, nanos } };
  const value = encode('RetryInfo', delay);
  return encode('Status', { code: 8, message: 'slow', details: [{ typeUrl, value }] });
}

function encode(name: string, message: Readonly<Record<string, unknown>>): Buffer {
  const type = root.lookupType(name);
  return Buffer.from(type.encode(type.fromObject({ ...message })).finish());
}
