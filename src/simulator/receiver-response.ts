// The bodies of an OTLP/HTTP receiver, in protobuf or JSON as the request was. Written by hand, so that the
// sender's reader is tested against bytes that its own writer did not make.
//
//   Export*ServiceResponse   1 partial_success      message
//   Export*PartialSuccess    1 rejected_*           int64
//                            2 error_message        string
//   google.rpc.Status        1 code                 int32
//                            2 message              string

export type OtlpFormat = 'protobuf' | 'json';

export interface PartialSuccess {
  /** 0 with a message is a warning. */
  readonly rejected: number;
  readonly message: string;
}

/** A full success where `partial` is null. `rejectedName` is the member's name in JSON. */
export function successBody(
  format: OtlpFormat,
  partial: PartialSuccess | null,
  rejectedName: 'rejectedDataPoints' | 'rejectedLogRecords',
): Buffer {
  if (format === 'json') {
    const partialSuccess =
      partial === null
        ? {}
        : { [rejectedName]: String(partial.rejected), errorMessage: partial.message };
    return Buffer.from(JSON.stringify({ partialSuccess }));
  }
  if (partial === null) return Buffer.alloc(0);
  const message = Buffer.concat([
    integerField(1, partial.rejected),
    bytesField(2, Buffer.from(partial.message)),
  ]);
  return bytesField(1, message);
}

/** A refusal, with the gRPC code that an HTTP status stands for. */
export function refusalBody(format: OtlpFormat, status: number, message: string): Buffer {
  const code = RPC_CODES[status] ?? RPC_UNKNOWN;
  if (format === 'json') return Buffer.from(JSON.stringify({ code, message }));
  return Buffer.concat([integerField(1, code), bytesField(2, Buffer.from(message))]);
}

const RPC_UNKNOWN = 2;
const RPC_CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  413: 8,
  429: 8,
  500: 13,
  503: 14,
};

// Proto3: a field that has its default, 0 or nothing, is left out.
function integerField(number: number, value: number): Buffer {
  return value === 0 ? Buffer.alloc(0) : Buffer.from([number << 3, ...varint(value)]);
}

function bytesField(number: number, bytes: Buffer): Buffer {
  const head = Buffer.from([(number << 3) | 2, ...varint(bytes.length)]);
  return bytes.length === 0 && number !== 1 ? Buffer.alloc(0) : Buffer.concat([head, bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) + 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return [...bytes, rest];
}
