// The behaviour that the transports of both protocols share.

import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { OtlpSignalConfig } from '../../../src/config/config.ts';
import { ConfigSecret } from '../../../src/config/secrets.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openTransport } from '../../../src/pipeline/send/open-senders.ts';
import type { SendRequest, SendResult, Transport } from '../../../src/pipeline/send/transport.ts';
import { BackEnd } from '../../support/back-end.ts';
import { GrpcBackEnd } from '../../support/grpc-back-end.ts';
import { testEndpoint } from '../../support/test-api.ts';

const ROW: SendRequest = {
  signal: 'metrics',
  encoding: 'none',
  body: Buffer.alloc(9),
  rawBytes: 9,
};

/** A back end accepts a request, cuts the connection, does not answer, or answers with a code and a text. */
type Move = 'accept' | 'cut' | 'silence' | readonly [code: number, words: string];

const PROTOCOLS = ['http/protobuf', 'grpc'] as const;
let backEnd: BackEnd | GrpcBackEnd;
let transport: Transport;
/** The back end's move for a request, by the request's number and key. */
let move: (index: number, key: unknown) => Move;
let sendCount: number;

async function open(
  protocol: OtlpSignalConfig['protocol'],
  settings: Partial<OtlpSignalConfig> = {},
  clock = systemClock,
): Promise<void> {
  if (protocol === 'grpc') {
    const server = (backEnd = await GrpcBackEnd.start());
    server.answer = ({ metadata }, i) => {
      const made = move(i, metadata['x-api-key']);
      if (made === 'accept') return {};
      if (made === 'cut') setImmediate(() => server.cut());
      return typeof made === 'string' ? null : { code: made[0], message: made[1] };
    };
  } else
    backEnd = await BackEnd.start(({ headers }, i) => {
      const made = move(i, headers['x-api-key']);
      if (made === 'accept') return { status: 200 };
      if (made === 'cut') return response => void response.socket?.destroy();
      return made === 'silence' ? () => undefined : { status: made[0], body: made[1] };
    });
  const { config, ...parts } = testEndpoint(backEnd.url, { protocol, ...settings }, clock);
  transport = await openTransport(config, parts);
  onTestFinished(async () => {
    await transport.close();
    await backEnd.stop();
  });
}

beforeEach(() => {
  move = () => 'accept';
  sendCount = 0;
});

function send(abort = new AbortController().signal): Promise<SendResult> {
  return transport.send(ROW, abort, () => sendCount++);
}

test.each([
  ['http/protobuf', 401],
  ['http/protobuf', 403],
  ['grpc', 7],
  ['grpc', 16],
] as const)(
  'over %s, a key that is refused with %i is read again, and a new one is tried at once',
  async (protocol, status) => {
    let source = 'old';
    const headers = { 'x-api-key': new ConfigSecret(source, () => source) };
    await open(protocol, { headers, names: { 'otlp.headers': 'HEADERS' } });
    move = (_, key) => (key === 'new' ? 'accept' : [status, 'no']);
    const reason = expect.stringContaining('check HEADERS');
    expect(await send()).toMatchObject({ status, reason });
    expect(sendCount).toBe(1);
    source = 'new';
    expect(await send()).toMatchObject({ kind: 'accepted' });
    expect([sendCount, backEnd.requests.length]).toEqual([3, 3]);
  },
);

test('over grpc, no answer shows a secret, even if it echoes one', async () => {
  await open('grpc', { headers: { authorization: new ConfigSecret('Bearer s3cr3t-t0ken') } });
  move = () => [16, 'no token s3cr3t-t0ken'];
  const reason = expect.stringContaining('no token [secret]');
  expect(await send()).toMatchObject({ kind: 'settings', reason });
});

describe.each(PROTOCOLS)('over %s, a connection that the back end closes', protocol => {
  test('while it is idle costs no attempt: the request goes out again at once; a new one does', async () => {
    await open(protocol);
    move = i => (i === 1 ? 'cut' : 'accept');
    for (let i = 0; i < 2; i++) expect(await send()).toMatchObject({ kind: 'accepted' });
    expect([sendCount, backEnd.requests.length]).toEqual([3, 3]);
    move = () => 'cut';
    expect(await send()).toMatchObject({ kind: 'retry' });
    expect(backEnd.requests).toHaveLength(5);
    expect(await send()).toMatchObject({ kind: 'retry' });
    expect(backEnd.requests).toHaveLength(6);
  });

  test('after a while was no idle one: its request was worked on', async () => {
    let atMs = 0;
    await open(protocol, {}, { ...systemClock, monotonicMs: () => atMs });
    await send();
    move = () => {
      atMs += 1000;
      return 'cut';
    };
    expect(await send()).toMatchObject({ kind: 'retry' });
    expect(backEnd.requests).toHaveLength(2);
  });
});

test.each(PROTOCOLS)(
  'over %s, an aborted request does not wait, or disturb another one',
  async protocol => {
    await open(protocol);
    move = i => (i === 0 ? 'silence' : 'accept');
    const abort = new AbortController();
    const given = send(abort.signal);
    await expect.poll(() => backEnd.requests.length).toBe(1);
    abort.abort();
    expect(await given).toMatchObject({ kind: 'retry' });
    expect(await send(abort.signal)).toMatchObject({ kind: 'retry' });
    expect(await send()).toMatchObject({ kind: 'accepted' });
  },
);

describe.each(['http/json', 'grpc'] as const)('over %s, bytes of the queue', protocol => {
  /** The result for a row whose body is read in this way. Fails if the row is sent. */
  async function resultOf(readBody: () => Buffer): Promise<SendResult> {
    await open(protocol);
    const row: SendRequest = {
      ...ROW,
      encoding: 'gzip',
      get body() {
        return readBody();
      },
    };
    const onSend = (): never => expect.fail('it was sent');
    return await transport.send(row, new AbortController().signal, onSend);
  }

  test('that cannot be unpacked are refused without sending', async () => {
    const reason = expect.stringMatching(/^cannot (?:encode|unpack)/);
    const want = { kind: 'refused', status: 0, reason };
    expect(await resultOf(() => Buffer.from('not gzip'))).toMatchObject(want);
  });

  test.each([
    Object.assign(new Error('Zlib error'), { code: 'Z_MEM_ERROR' }),
    new RangeError('Array buffer allocation failed'),
  ])('are retried if memory is too short: %s', async error => {
    const result = await resultOf(() => {
      throw error;
    });
    expect(result).toMatchObject({ kind: 'retry', reason: expect.stringContaining(error.message) });
  });
});
