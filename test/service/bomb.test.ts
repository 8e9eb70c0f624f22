// Two gigabytes of zeros in two megabytes: the bytes read and the memory stay within the limit.

import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { BodyBuffer } from '../../src/lib/body-buffer.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { ServiceHttp } from '../../src/service/http-client.ts';
import { startHttpServer, type HttpTestServer } from '../support/http-server.ts';
import { testApi } from '../support/test-api.ts';

const MIB = 1024 * 1024;
/** A gzip member with 16 MiB of zeros in 16 KiB; several in a row are valid gzip. */
const MEMBER = gzipSync(Buffer.alloc(16 * MIB));
const MEMBER_COUNT = 128;

function startBombServer(): Promise<HttpTestServer> {
  return startHttpServer((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/plain' });
    Readable.from(Array.from({ length: MEMBER_COUNT }, () => MEMBER)).pipe(response);
  });
}

/** Reads a bomb, and measures the memory of this process. */
async function explode(maxBodyBytes: number): Promise<{
  readonly reason: string;
  readonly grownBytes: number;
  readonly keptBytes: number;
}> {
  await using server = await startBombServer();
  const api = testApi(server.origin, { timeoutMs: 20_000 });
  const client = new ServiceHttp({ api, clock: systemClock, counters: new Counters() });
  const into = new BodyBuffer();
  const beforeBytes = process.memoryUsage.rss();
  let peakBytes = beforeBytes;
  const watching = new AbortController();
  const running = client.get('/', { accept: 'text/plain', maxBodyBytes, into });
  void running.then(() => watching.abort());
  while (!watching.signal.aborted) {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
    await setImmediate();
  }
  const result = await running;
  await client.close();
  return {
    reason: result.ok ? 'ok' : result.error.reason,
    grownBytes: peakBytes - beforeBytes,
    keptBytes: into.capacityBytes,
  };
}

test('a bomb ends at the limit', async () => {
  const { reason, grownBytes, keptBytes } = await explode(8 * MIB);
  expect(reason).toBe('too_large');
  expect(grownBytes).toBeLessThan(96 * MIB);
  expect(keptBytes).toBe(0);
});

test('a bomb ends long before the limit of real pages', async () => {
  const { reason, grownBytes, keptBytes } = await explode(1024 * MIB);
  expect(reason).toBe('bomb');
  expect(grownBytes).toBeLessThan(128 * MIB);
  expect(keptBytes).toBe(0);
});
