import { expect, test } from 'vitest';
import { Tokens, type TokenRequests } from '../../../src/pipeline/send/tokens.ts';
import { retryLater } from '../../../src/pipeline/send/transport.ts';
import { FakeClock } from '../../support/fake-clock.ts';

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

test('for an hour, two senders never use a token of 30 s that has ended, and share each', async () => {
  const endpoint = new Endpoint();
  let requests = 0;
  for (let second = 0; second < 3600; second += 2) {
    for (const value of await Promise.all([endpoint.current(), endpoint.current()])) {
      expect(endpoint.isGood(value), `${value} after ${second} s`).toBe(true);
      requests++;
    }
    await endpoint.clock.advance(2000);
  }
  expect(requests).toBe(3600);
  // Renewed after 22.5 s, which is at a request after 24 s.
  expect(endpoint.count).toBe(150);
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
