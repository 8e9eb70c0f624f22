import { zstdDecompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Counters } from '../../../src/lib/counters.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { compress } from '../../../src/pipeline/queue/compression.ts';
import type { Encoding } from '../../../src/pipeline/queue/queue.ts';
import {
  AutoCompression,
  type CompressionStatus,
  CONTENT_BYTES_MIN,
  type Exchange,
  OFF_MS,
  recall,
  retain,
} from '../../../src/pipeline/send/auto-compression.ts';
import { OtlpHttp } from '../../../src/pipeline/send/otlp-http.ts';
import type { SendRequest, SendResult } from '../../../src/pipeline/send/transport.ts';
import { type Answer, BackEnd, type ReceivedRequest } from '../../support/back-end.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { metricsBytes } from '../../support/otlp-requests.ts';
import { testEndpoint } from '../../support/test-api.ts';

const RAW = metricsBytes('a', 100);
const ACCEPTED: SendResult = { kind: 'accepted', rejected: 0, message: '' };
const never = new AbortController().signal;

let backEnd: BackEnd;
let clock: FakeClock;
let learned: CompressionStatus[];
const open: OtlpHttp[] = [];

beforeEach(async () => {
  backEnd = await BackEnd.start();
  clock = new FakeClock();
  learned = [];
});

afterEach(async () => {
  for (const transport of open.splice(0)) await transport.close();
  await backEnd.stop();
});

interface Choice {
  readonly transport: OtlpHttp;
  readonly compression: AutoCompression;
}

function connect(
  remembered: CompressionStatus | null = null,
  protocol: 'http/protobuf' | 'http/json' = 'http/protobuf',
): Choice {
  const endpoint = `${backEnd.url}/v1/metrics`;
  const destination = { write: () => undefined };
  const compression = new AutoCompression({
    signal: 'metrics',
    endpoint,
    clock,
    counters: new Counters(),
    logger: createLogger({ level: 'info', format: 'json', destination, clock }),
    remembered,
    onLearned: status => void learned.push(status),
  });
  const config = { protocol, compression: 'auto', timeoutMs: 1000 } as const;
  const transport = new OtlpHttp(testEndpoint(endpoint, config, clock), compression);
  open.push(transport);
  return { transport, compression };
}

async function send(
  { transport }: Choice,
  raw: Buffer = RAW,
  stored: Encoding = 'gzip',
): Promise<SendResult> {
  const body = await compress(stored, raw);
  const request: SendRequest = { signal: 'metrics', encoding: stored, body, rawBytes: raw.length };
  return await transport.send(request, never);
}

/** The encodings of the requests so far, which are forgotten then; each must hold `raw`. */
function seen(raw: Buffer = RAW): readonly string[] {
  const requests = backEnd.requests.splice(0);
  for (const request of requests) expect(request.raw).toEqual(raw);
  return requests.map(({ headers }) => headers['content-encoding'] ?? 'none');
}

/** Answers zstd with `answer`, and everything else well. */
function onZstd(
  answer: Answer | ((response: import('node:http').ServerResponse) => void),
): (request: ReceivedRequest) => ReturnType<BackEnd['answer']> {
  return ({ headers }) => (headers['content-encoding'] === 'zstd' ? answer : { status: 200 });
}

async function proven(): Promise<Choice> {
  const choice = connect();
  await send(choice);
  await send(choice);
  expect(seen()).toEqual(['gzip', 'zstd']);
  expect(choice.compression.status().encoding).toBe('zstd');
  return choice;
}

describe('a back end that accepts zstd', () => {
  test('gets gzip first, then zstd for good', async () => {
    const choice = connect();
    for (let i = 0; i < 4; i++) expect(await send(choice)).toEqual(ACCEPTED);
    expect(seen()).toEqual(['gzip', 'zstd', 'zstd', 'zstd']);
    expect(learned).toMatchObject([{ encoding: 'zstd', untilMs: null }]);
  });

  test('gets rows stored in any encoding', async () => {
    const choice = await proven();
    for (const stored of ['gzip', 'zstd', 'none'] as const) await send(choice, RAW, stored);
    expect(seen()).toEqual(['zstd', 'zstd', 'zstd']);
  });

  test('proves nothing with empty and tiny requests', async () => {
    const choice = connect();
    const tiny = metricsBytes('a', 1);
    expect(tiny.length).toBeLessThan(CONTENT_BYTES_MIN);
    for (const raw of [Buffer.alloc(0), tiny]) {
      for (let i = 0; i < 3; i++) await send(choice, raw);
      expect(seen(raw)).toEqual(['gzip', 'gzip', 'gzip']);
    }
    await send(choice);
    await send(choice, tiny);
    expect(backEnd.requests.splice(0).map(({ headers }) => headers['content-encoding'])).toEqual([
      'gzip',
      'gzip',
    ]);
    await send(choice);
    expect(seen()).toEqual(['zstd']);
  });

  test('gets one trial at a time: requests beside it are gzip', async () => {
    const { compression } = connect();
    const proof: Exchange = { result: ACCEPTED, status: 200, isProof: true, isPauseAsked: false };
    const trial = Promise.withResolvers<Exchange>();
    const sent: string[] = [];
    const one = (): Promise<SendResult> =>
      compression.send(RAW.length, encoding => {
        sent.push(encoding);
        return sent.length === 2 ? trial.promise : Promise.resolve(proof);
      });
    await one();
    const first = one();
    await one();
    await one();
    expect(sent).toEqual(['gzip', 'zstd', 'gzip', 'gzip']);
    trial.resolve(proof);
    expect(await first).toEqual(ACCEPTED);
  });

  test('gets JSON in zstd, too', async () => {
    const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' };
    backEnd.answer = () => answer;
    const choice = connect(null, 'http/json');
    await send(choice);
    await send(choice);
    const [, second] = backEnd.requests;
    expect(second?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-encoding': 'zstd',
    });
    expect(zstdDecompressSync(second?.body ?? Buffer.alloc(0)).toString()).toMatch(/^{"resource/);
  });
});

const REFUSALS: readonly [string, Answer | 'reset' | 'silence'][] = [
  ['400', { status: 400, body: 'unsupported compression: zstd' }],
  ['403', { status: 403 }],
  ['404', { status: 404 }],
  ['415', { status: 415 }],
  ['422', { status: 422 }],
  ['500', { status: 500 }],
  ['503', { status: 503 }],
  ['202', { status: 202 }],
  ['204', { status: 204 }],
  ['a web page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' }],
  ['words', { status: 200, headers: { 'content-type': 'text/plain' }, body: 'thanks' }],
  [
    'a body that is no message',
    {
      status: 200,
      headers: { 'content-type': 'application/x-protobuf' },
      body: Buffer.from([0x0a, 0x7f, 1]),
    },
  ],
  [
    'rejected points',
    {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: '{"partialSuccess": {"rejectedDataPoints": "1"}}',
    },
  ],
  ['a connection that breaks off', 'reset'],
  ['no answer', 'silence'],
];

describe('a trial that gives no proof', () => {
  test.each(REFUSALS)('is repeated with gzip at once: %s', async (_, answer) => {
    if (answer === 'reset') backEnd.answer = onZstd(response => void response.destroy());
    else if (answer === 'silence') backEnd.answer = onZstd(() => void clock.advance(1000));
    else backEnd.answer = onZstd(answer);
    const choice = connect();
    await send(choice);
    expect(await send(choice)).toEqual(ACCEPTED);
    await send(choice);
    // After a reset on an old connection, a new one is tried.
    const trials = answer === 'reset' ? ['zstd', 'zstd'] : ['zstd'];
    expect(seen()).toEqual(['gzip', ...trials, 'gzip', 'gzip']);
    expect(choice.compression.status()).toMatchObject({
      encoding: 'gzip',
      untilMs: clock.nowMs() + OFF_MS,
    });
    await clock.advance(OFF_MS);
    backEnd.answer = () => ({ status: 200 });
    await send(choice);
    await send(choice);
    expect(seen()).toEqual(['zstd', 'zstd']);
  });

  test('does not begin if gzip gets such answers: it would prove nothing and send points twice', async () => {
    const answers = REFUSALS.map(([, answer]) => answer).filter(
      answer => typeof answer === 'object' && (answer.status ?? 200) < 300,
    );
    expect(answers).toHaveLength(6);
    for (const answer of answers as readonly Answer[]) {
      backEnd.answer = () => answer;
      const choice = connect();
      for (let i = 0; i < 3; i++) await send(choice);
      expect(seen()).toEqual(['gzip', 'gzip', 'gzip']);
      backEnd.answer = () => ({ status: 200 });
      await send(choice);
      await send(choice);
      expect(seen()).toEqual(['gzip', 'zstd']);
    }
  });

  test('is repeated if it is accepted without proof, whatever pause is requested', async () => {
    backEnd.answer = onZstd({ status: 202, headers: { 'retry-after': '7' } });
    const choice = connect();
    await send(choice);
    expect(await send(choice)).toEqual(ACCEPTED);
    expect(seen()).toEqual(['gzip', 'zstd', 'gzip']);
  });

  test('proves nothing if gzip fails as well', async () => {
    const choice = connect();
    await send(choice);
    backEnd.answer = () => ({ status: 503 });
    expect(await send(choice)).toMatchObject({ kind: 'retry' });
    expect(await send(choice)).toMatchObject({ kind: 'retry' });
    backEnd.answer = () => ({ status: 200 });
    await send(choice);
    await send(choice);
    expect(seen()).toEqual(['gzip', 'zstd', 'gzip', 'gzip', 'gzip', 'zstd']);
    expect(learned).toMatchObject([{ encoding: 'zstd' }]);
  });

  test.each([
    ['429', { status: 429, headers: { 'retry-after': '7' } }, 7000],
    ['429 without a time', { status: 429 }, null],
    ['503 with a time', { status: 503, headers: { 'retry-after': '7' } }, 7000],
  ])('obeys a back end that asks for a pause: %s', async (_, answer, retryAfterMs) => {
    const choice = connect();
    await send(choice);
    backEnd.answer = () => answer;
    expect(await send(choice)).toMatchObject({ kind: 'retry', retryAfterMs });
    expect(seen()).toEqual(['gzip', 'zstd']);
    expect(learned).toEqual([]);
  });
});

describe('a back end that loses zstd', () => {
  test.each([400, 403, 406, 411, 415, 422, 500])('gets the same as gzip: %s', async status => {
    const choice = await proven();
    backEnd.answer = onZstd({ status });
    expect(await send(choice)).toEqual(ACCEPTED);
    await send(choice);
    expect(seen()).toEqual(['zstd', 'gzip', 'gzip']);
    expect(choice.compression.status().encoding).toBe('gzip');
  });

  test('keeps it if gzip is refused in the same way: gzip alone goes out until it is accepted', async () => {
    const choice = await proven();
    backEnd.answer = () => ({ status: 400 });
    for (let i = 0; i < 4; i++)
      expect(await send(choice)).toMatchObject({ kind: 'split', status: 400 });
    backEnd.answer = () => ({ status: 200 });
    await send(choice);
    await send(choice);
    expect(seen()).toEqual(['zstd', 'gzip', 'gzip', 'gzip', 'gzip', 'gzip', 'zstd']);
    expect(choice.compression.status().encoding).toBe('zstd');
  });

  test('loses nothing if its content is refused as well', async () => {
    const choice = await proven();
    backEnd.answer = () => ({ status: 400 });
    await send(choice);
    backEnd.answer = onZstd({ status: 400 });
    for (let i = 0; i < 3; i++) expect(await send(choice)).toEqual(ACCEPTED);
    expect(seen()).toEqual(['zstd', 'gzip', 'gzip', 'zstd', 'gzip', 'gzip']);
    expect(choice.compression.status().encoding).toBe('gzip');
  });

  test('keeps it through an outage', async () => {
    const choice = await proven();
    for (const status of [502, 503, 504, 429, 401, 404]) {
      backEnd.answer = () => ({ status });
      expect((await send(choice)).kind).not.toBe('accepted');
      expect(seen()).toEqual(['zstd']);
    }
  });

  test('keeps it whatever happens to empty requests, which go out as gzip', async () => {
    const choice = await proven();
    backEnd.answer = onZstd({ status: 500 });
    const empty = Buffer.alloc(0);
    for (let i = 0; i < 3; i++) await send(choice, empty, 'none');
    expect(seen(empty)).toEqual(['gzip', 'gzip', 'gzip']);
    expect(choice.compression.status().encoding).toBe('zstd');
  });

  test.each([
    ['502', { status: 502 }],
    ['501', { status: 501 }],
    ['404', { status: 404 }],
    ['a connection that breaks off', null],
  ])('gets the same as gzip after ten failures of any kind: %s', async (_, answer) => {
    const choice = connect((await proven()).compression.status());
    backEnd.answer = onZstd(answer ?? (response => void response.destroy()));
    for (let i = 0; i < 10; i++) expect((await send(choice)).kind).not.toBe('accepted');
    expect(seen()).toEqual(Array.from({ length: 10 }, () => 'zstd'));
    expect(await send(choice)).toEqual(ACCEPTED);
    await send(choice);
    expect(seen()).toEqual(['zstd', 'gzip', 'gzip']);
  });

  test('gets gzip until the restart after the second time', async () => {
    const choice = await proven();
    backEnd.answer = onZstd({ status: 415 });
    await send(choice);
    await clock.advance(OFF_MS);
    backEnd.answer = () => ({ status: 200 });
    await send(choice);
    await send(choice);
    backEnd.answer = onZstd({ status: 415 });
    await send(choice);
    expect(seen()).toEqual(['zstd', 'gzip', 'gzip', 'zstd', 'zstd', 'gzip']);
    await clock.advance(100 * OFF_MS);
    for (let i = 0; i < 3; i++) await send(choice);
    expect(seen()).toEqual(['gzip', 'gzip', 'gzip']);
  });
});

describe('the next run', () => {
  test('begins with the proven encoding', async () => {
    const { compression } = await proven();
    await send(connect(compression.status()));
    expect(seen()).toEqual(['zstd']);
  });

  test('does not try zstd for the rest of the day', async () => {
    backEnd.answer = onZstd({ status: 400 });
    const first = connect();
    await send(first);
    await send(first);
    const next = connect(first.compression.status());
    seen();
    for (let i = 0; i < 3; i++) await send(next);
    expect(seen()).toEqual(['gzip', 'gzip', 'gzip']);
  });

  test('tries zstd again if the clock was a year ahead when it was refused', async () => {
    clock.wallOffsetMs += 365 * OFF_MS;
    backEnd.answer = onZstd({ status: 400 });
    const first = connect();
    await send(first);
    await send(first);
    clock.wallOffsetMs -= 365 * OFF_MS;
    const next = connect(first.compression.status());
    backEnd.answer = () => ({ status: 200 });
    seen();
    await send(next);
    await send(next);
    expect(seen()).toEqual(['gzip', 'zstd']);
  });

  test('finds the result for its endpoint, among the latest eight', () => {
    const status = { encoding: 'zstd', sinceMs: 1, untilMs: null, reason: 'r' } as const;
    let blob: Buffer | null = null;
    for (let i = 0; i < 10; i++) blob = retain(blob, `http://h${i}`, status);
    blob = retain(blob, 'http://h9', { ...status, encoding: 'gzip', untilMs: Infinity });
    expect(recall(blob, 'http://h1')).toBeNull();
    expect(recall(blob, 'http://h2')).toEqual(status);
    expect(recall(blob, 'http://h9')).toEqual({ ...status, encoding: 'gzip' });
  });

  test('starts again from an unreadable blob', () => {
    for (const text of ['', '{', '7', '[7, {}, {"endpoint": "http://h"}]'])
      expect(recall(Buffer.from(text), 'http://h')).toBeNull();
    expect(recall(null, 'http://h')).toBeNull();
  });
});
