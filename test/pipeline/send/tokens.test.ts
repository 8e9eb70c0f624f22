import { expect, test } from 'vitest';
import { Tokens, type TokenRequests } from '../../../src/pipeline/send/tokens.ts';
import { retryLater } from '../../../src/pipeline/send/transport.ts';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { openTransport } from '../../../src/pipeline/send/open-senders.ts';
import { Sender } from '../../../src/pipeline/send/sender.ts';
import { Counters } from '../../../src/lib/counters.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { BackEnd } from '../../support/back-end.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { testEndpoint } from '../../support/test-api.ts';
import { expectPoints, put, queueOptions } from '../queue/queue-behaviour.ts';

const NEVER = new AbortController().signal;

/** An endpoint on the virtual clock: numbers its tokens, which live `lifetimeMs`. */
class Endpoint implements TokenRequests {
  readonly clock = new FakeClock();
  count = 0;
  isDown = false;
  lifetimeMs: number | null = 30_000;
  readonly tokens = new Tokens(this, this.clock);
  readonly #ends = new Map<string, number>();

  async fetch(): ReturnType<TokenRequests['fetch']> {
    await new Promise(resolve => setImmediate(resolve));
    if (this.isDown) return retryLater('down');
    const token = `canary-${++this.count}`;
    this.#ends.set(`Bearer ${token}`, this.clock.monotonicMs() + (this.lifetimeMs ?? Infinity));
    return { token, lifetimeMs: this.lifetimeMs };
  }

  secrets(): readonly string[] {
    return [];
  }

  isGood(value: string): boolean {
    return this.clock.monotonicMs() < (this.#ends.get(value) ?? 0);
  }

  /** Ends all tokens, as a restarted back end does. */
  revoke(): void {
    this.#ends.clear();
  }

  async current(): Promise<string> {
    const given = await this.tokens.current(NEVER);
    return 'kind' in given ? given.kind : given.value;
  }
}

test('for an hour of tokens of 30 s, everything arrives, and no request is refused', async () => {
  const endpoint = new Endpoint();
  const { clock } = endpoint;
  let refused = 0;
  const backEnd = await BackEnd.start(({ headers: { authorization = '' } }) => {
    if (endpoint.isGood(authorization)) return { status: 200 };
    refused++;
    return { status: 401 };
  });
  const counters = new Counters();
  const queue = Queue.open(queueOptions({ clock, counters }), null);
  const { config, ...parts } = testEndpoint(backEnd.url, { timeoutMs: 3_600_000 }, clock);
  const sender = new Sender({
    signal: 'metrics',
    queue,
    transport: await openTransport(config, { ...parts, authorization: endpoint.tokens }),
    endpoint: backEnd.url,
    limit: { bytes: Infinity, points: Infinity },
    counters,
    logger: silentLogger,
    concurrency: 1,
    stuckAfterMs: 900_000,
    endpointPause: { untilMs: -Infinity },
    clock,
    random: () => 0.5,
  });
  sender.start();
  for (let second = 0; second < 3600; second += 4) {
    await put(queue, { a: 1 }, clock.nowMs());
    expect(await sender.flush(Infinity), `after ${second} s`).toBe(true);
    await clock.advance(4000);
  }
  await sender.close();
  expectPoints(queue, 'a', { accepted: 900 });
  await queue.close();
  await backEnd.stop();
  expect(refused).toBe(0);
  // Renewed after 22.5 s: beside the request after 24 s, which still uses the old one.
  expect(endpoint.count).toBe(150);
});

test('two senders share each token', async () => {
  const endpoint = new Endpoint();
  const both = await Promise.all([endpoint.current(), endpoint.current()]);
  expect(both).toEqual(['Bearer canary-1', 'Bearer canary-1']);
  expect(endpoint.count).toBe(1);
});

test('while the endpoint is down, a token is used to its end; then requests wait', async () => {
  const endpoint = new Endpoint();
  expect(await endpoint.current()).toBe('Bearer canary-1');
  endpoint.isDown = true;
  await endpoint.clock.advance(25_000);
  expect(await endpoint.current()).toBe('Bearer canary-1');
  await endpoint.clock.advance(4000);
  expect(await endpoint.current()).toBe('retry');
  endpoint.isDown = false;
  expect(await endpoint.current()).toBe('Bearer canary-2');
});

test('after a 401, all senders get the same new token', async () => {
  const endpoint = new Endpoint();
  const old = await endpoint.current();
  endpoint.revoke();
  const renew = (): Promise<string | null> => endpoint.tokens.renew(old, NEVER);
  expect(await Promise.all([renew(), renew()])).toEqual(['Bearer canary-2', 'Bearer canary-2']);
  expect(await renew()).toBe('Bearer canary-2');
  expect(endpoint.count).toBe(2);
  endpoint.isDown = true;
  expect(await endpoint.tokens.renew('Bearer canary-2', NEVER)).toBeNull();
});

test('a token without a lifetime is kept until a 401', async () => {
  const endpoint = new Endpoint();
  endpoint.lifetimeMs = null;
  await endpoint.current();
  await endpoint.clock.advance(86_400_000);
  expect(await endpoint.current()).toBe('Bearer canary-1');
});

test('an abort ends the wait of its sender alone', async () => {
  const endpoint = new Endpoint();
  const abort = new AbortController();
  const given = endpoint.tokens.current(abort.signal);
  const other = endpoint.current();
  abort.abort();
  expect(await given).toMatchObject({ kind: 'retry' });
  expect(await other).toBe('Bearer canary-1');
});

test('the present token and the one before are secrets, and so are the parts of a signed one', async () => {
  const endpoint = new Endpoint();
  await endpoint.current();
  await endpoint.tokens.renew('Bearer canary-1', NEVER);
  expect(endpoint.tokens.secrets()).toEqual(expect.arrayContaining(['canary-1', 'canary-2']));
});
