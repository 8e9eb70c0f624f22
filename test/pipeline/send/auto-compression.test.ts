import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Counters } from '../../../src/lib/counters.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { compress } from '../../../src/pipeline/queue/compression.ts';
import type { Commit, Encoding } from '../../../src/pipeline/queue/commit.ts';
import {
  AutoCompression,
  CONTENT_BYTES_MIN,
  type Exchange,
  OFF_MS,
  recall,
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
/** The encodings that the queue was told to store rows in, and the state that it keeps. */
let learned: Encoding[];
let blob: Buffer | null;

beforeEach(async () => {
  backEnd = await BackEnd.start();
  onTestFinished(() => backEnd.stop());
  clock = new FakeClock();
  learned = [];
  blob = null;
});

interface Choice {
  readonly transport: OtlpHttp;
  readonly compression: AutoCompression;
}

/** Opens a transport, with the compression that is remembered for the endpoint `name`. */
async function connect(
  protocol: 'http/protobuf' | 'http/json' = 'http/protobuf',
  name = 'http://back-end',
): Promise<Choice> {
  const queue = {
    readState: () => Promise.resolve(blob),
    compressAs: (_: string, encoding: Encoding) => void learned.push(encoding),
    commit: ({ state }: Commit) => {
      blob = state[0]?.blob ?? null;
      return Promise.resolve({ kind: 'stored', evictedPoints: 0 } as const);
    },
  };
  const parts = { queue, clock, counters: new Counters(), logger: silentLogger };
  const own = { signal: 'metrics', endpoint: name, protocol } as const;
  const compression = await AutoCompression.open({ ...parts, ...own });
  const config = { protocol, compression: 'auto', timeoutMs: 1000 } as const;
  const options = testEndpoint(`${backEnd.url}/v1/metrics`, config, clock);
  const transport = new OtlpHttp(options, compression);
  onTestFinished(() => transport.close());
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

/** Removes the requests so far, and returns their encodings. Each request must hold `raw`. */
function seen(raw: Buffer = RAW): string {
  const requests = backEnd.requests.splice(0);
  for (const request of requests) expect(request.raw).toEqual(raw);
  return requests.map(({ headers }) => headers['content-encoding'] ?? 'none').join(' ');
}

/**
 * Sends `count` times to a back end with this answer or status, and expects requests in the encodings `want`. Returns
 * the kinds of the results.
 */
async function check(
  choice: Choice,
  answer: number | BackEnd['answer'],
  count: number,
  want: string,
): Promise<ReadonlySet<string>> {
  backEnd.answer = typeof answer === 'number' ? () => ({ status: answer }) : answer;
  const kinds = new Set<string>();
  for (let i = 0; i < count; i++) kinds.add((await send(choice)).kind);
  expect(seen()).toBe(want);
  return kinds;
}

const ACCEPTS = new Set(['accepted']);

/** Gives requests in zstd this answer, and all others 200. */
function onZstd(
  answer: number | Answer | ((response: ServerResponse) => void),
): (request: ReceivedRequest) => ReturnType<BackEnd['answer']> {
  const given = typeof answer === 'number' ? { status: answer } : answer;
  return ({ headers }) => (headers['content-encoding'] === 'zstd' ? given : { status: 200 });
}

async function proven(): Promise<Choice> {
  const choice = await connect();
  await check(choice, 200, 2, 'gzip zstd');
  expect(choice.compression.status().encoding).toBe('zstd');
  return choice;
}

describe('a back end that accepts zstd', () => {
  test('gets gzip first, then zstd for good', async () => {
    expect(await check(await connect(), 200, 4, 'gzip zstd zstd zstd')).toEqual(ACCEPTS);
    expect(learned).toEqual(['gzip', 'zstd']);
  });

  test('gets rows stored in any encoding', async () => {
    const choice = await proven();
    for (const stored of ['gzip', 'zstd', 'none'] as const) await send(choice, RAW, stored);
    expect(seen()).toBe('zstd zstd zstd');
  });

  test('proves nothing with empty and tiny requests', async () => {
    const choice = await connect();
    const tiny = metricsBytes('a', 1);
    expect(tiny.length).toBeLessThan(CONTENT_BYTES_MIN);
    for (const raw of [Buffer.alloc(0), tiny]) {
      for (let i = 0; i < 3; i++) await send(choice, raw);
      expect(seen(raw)).toBe('gzip gzip gzip');
    }
    await check(choice, 200, 1, 'gzip');
    await send(choice, tiny);
    expect(seen(tiny)).toBe('gzip');
    await check(choice, 200, 1, 'zstd');
  });

  test('gets one trial at a time: requests beside it are gzip', async () => {
    const { compression } = await connect();
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
    const choice = await connect('http/json');
    await send(choice);
    await send(choice);
    const [, second] = backEnd.requests;
    expect(second?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-encoding': 'zstd',
    });
    expect(second?.raw.toString()).toMatch(/^{"resource/);
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
    const behaviour =
      answer === 'reset'
        ? onZstd(response => void response.destroy())
        : onZstd(answer === 'silence' ? () => void clock.advance(1000) : answer);
    // After a reset on an old connection, a new one is tried.
    const trials = answer === 'reset' ? 'zstd zstd' : 'zstd';
    const choice = await connect();
    expect(await check(choice, behaviour, 3, `gzip ${trials} gzip gzip`)).toEqual(ACCEPTS);
    const untilMs = clock.nowMs() + OFF_MS;
    expect(choice.compression.status()).toMatchObject({ encoding: 'gzip', untilMs });
    await clock.advance(OFF_MS);
    await check(choice, 200, 2, 'zstd zstd');
  });

  const untold = REFUSALS.filter(
    (row): row is [string, Answer] => typeof row[1] === 'object' && row[1].status < 300,
  );
  test.each(untold)(
    'does not begin if gzip gets such an answer, too: it would send points twice: %s',
    async (_, answer) => {
      const choice = await connect();
      await check(choice, () => answer, 3, 'gzip gzip gzip');
      await check(choice, 200, 2, 'gzip zstd');
    },
  );

  test('is repeated if it is accepted without proof, whatever pause is requested', async () => {
    const answer = onZstd({ status: 202, headers: { 'retry-after': '7' } });
    expect(await check(await connect(), answer, 2, 'gzip zstd gzip')).toEqual(ACCEPTS);
  });

  test('proves nothing if gzip fails as well', async () => {
    const choice = await connect();
    await check(choice, 200, 1, 'gzip');
    expect(await check(choice, 503, 2, 'zstd gzip gzip')).toEqual(new Set(['retry']));
    await check(choice, 200, 2, 'gzip zstd');
    expect(learned).toEqual(['gzip', 'zstd']);
  });

  test.each([
    ['429', { status: 429, headers: { 'retry-after': '7' } }, 7000],
    ['429 without a time', { status: 429 }, null],
    ['503 with a time', { status: 503, headers: { 'retry-after': '7' } }, 7000],
  ])('obeys a back end that asks for a pause: %s', async (_, answer, retryAfterMs) => {
    const choice = await connect();
    await check(choice, 200, 1, 'gzip');
    backEnd.answer = () => answer;
    expect(await send(choice)).toMatchObject({ kind: 'retry', retryAfterMs });
    expect(seen()).toBe('zstd');
    expect(learned).toEqual(['gzip']);
  });
});

describe('a back end that loses zstd', () => {
  test.each([400, 403, 406, 411, 415, 422, 500])('gets the same as gzip: %s', async status => {
    const choice = await proven();
    expect(await check(choice, onZstd(status), 2, 'zstd gzip gzip')).toEqual(ACCEPTS);
    expect(choice.compression.status().encoding).toBe('gzip');
  });

  test('keeps it if gzip is refused in the same way: gzip alone goes out until it is accepted', async () => {
    const choice = await proven();
    expect(await check(choice, 400, 4, 'zstd gzip gzip gzip gzip')).toEqual(new Set(['split']));
    await check(choice, 200, 2, 'gzip zstd');
    expect(choice.compression.status().encoding).toBe('zstd');
  });

  test('loses nothing if its content is refused as well', async () => {
    const choice = await proven();
    await check(choice, 400, 1, 'zstd gzip');
    expect(await check(choice, onZstd(400), 3, 'gzip zstd gzip gzip')).toEqual(ACCEPTS);
    expect(choice.compression.status().encoding).toBe('gzip');
  });

  test('keeps it through an outage', async () => {
    const choice = await proven();
    for (const status of [502, 503, 504, 429, 401, 404])
      expect(await check(choice, status, 1, 'zstd')).not.toEqual(ACCEPTS);
  });

  test('keeps it whatever happens to empty requests, which go out as gzip', async () => {
    const choice = await proven();
    backEnd.answer = onZstd(500);
    const empty = Buffer.alloc(0);
    for (let i = 0; i < 3; i++) await send(choice, empty, 'none');
    expect(seen(empty)).toBe('gzip gzip gzip');
    expect(choice.compression.status().encoding).toBe('zstd');
  });

  test.each([
    ['502', 502],
    ['501', 501],
    ['404', 404],
    ['a connection that breaks off', (response: ServerResponse) => void response.destroy()],
  ])('gets the same as gzip after ten failures of any kind: %s', async (_, answer) => {
    await proven();
    const choice = await connect();
    const ten = Array.from({ length: 10 }, () => 'zstd').join(' ');
    expect(await check(choice, onZstd(answer), 10, ten)).not.toContain('accepted');
    expect(await check(choice, onZstd(answer), 2, 'zstd gzip gzip')).toEqual(ACCEPTS);
  });

  test('gets gzip until the restart after the second time', async () => {
    const choice = await proven();
    await check(choice, onZstd(415), 1, 'zstd gzip');
    await clock.advance(OFF_MS);
    await check(choice, 200, 2, 'gzip zstd');
    await check(choice, onZstd(415), 1, 'zstd gzip');
    await clock.advance(100 * OFF_MS);
    await check(choice, 200, 3, 'gzip gzip gzip');
    await check(await connect(), 200, 2, 'gzip zstd');
  });
});

describe('the next run', () => {
  test('begins with the proven encoding', async () => {
    await proven();
    await check(await connect(), 200, 1, 'zstd');
  });

  test.each([
    ['does not try zstd for the rest of the day', 0, 'gzip gzip gzip'],
    ['tries zstd again if the clock was a year ahead when it was refused', 365, 'gzip zstd zstd'],
  ])('%s', async (_, days, want) => {
    clock.wallOffsetMs += days * OFF_MS;
    const first = await connect();
    await check(first, onZstd(400), 2, 'gzip zstd gzip');
    clock.wallOffsetMs -= days * OFF_MS;
    await check(await connect(), 200, 3, want);
  });

  test('finds the result for its endpoint, among the latest eight', async () => {
    for (let i = 0; i < 10; i++)
      await check(await connect('http/protobuf', `http://h${i}`), 200, 2, 'gzip zstd');
    const encodingOf = (protocol: string, i: number): string | undefined =>
      recall(blob, protocol, `http://h${i}`)?.encoding;
    expect(encodingOf('http/protobuf', 1)).toBe(undefined);
    expect(encodingOf('http/protobuf', 2)).toBe('zstd');
    expect(encodingOf('http/json', 2)).toBe(undefined);
    await check(await connect('http/protobuf', 'http://h9'), onZstd(415), 1, 'zstd gzip');
    expect(encodingOf('http/protobuf', 9)).toBe('gzip');
    expect(encodingOf('http/protobuf', 2)).toBe('zstd');
  });

  test('starts again from an unreadable blob', () => {
    for (const text of ['', '{', '7', '[7, {}, {"endpoint": "http http://h"}]'])
      expect(recall(Buffer.from(text), 'http', 'http://h')).toBeNull();
    expect(recall(null, 'http', 'http://h')).toBeNull();
  });
});
