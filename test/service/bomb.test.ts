// Two gigabytes of zeros in two megabytes: the bytes read and the memory stay within the limit.

import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { BodyBuffer } from '../../src/lib/body-buffer.ts';
import { startHttpServer, type HttpTestServer } from '../support/http-server.ts';
import { openHttp } from '../support/service-client.ts';

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
  await using opened = openHttp(server.origin, { timeoutMs: 20_000 });
  const into = new BodyBuffer();
  const beforeBytes = process.memoryUsage.rss();
  let peakBytes = beforeBytes;
  const watching = new AbortController();
  const running = opened.http.get('/', { accept: 'text/plain', maxBodyBytes, into });
  void running.then(() => watching.abort());
  while (!watching.signal.aborted) {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
    await setImmediate();
  }
  const result = await running;
  return {
    reason: result.ok ? 'ok' : result.error.reason,
    grownBytes: peakBytes - beforeBytes,
    keptBytes: into.capacityBytes,
  };
}

test.each([
  ['at the limit', 8, 'too_large', 96],
  ['long before the limit of real pages', 1024, 'bomb', 128],
])('a bomb ends %s', async (_, maxBodyMib, want, grownMib) => {
  const { reason, grownBytes, keptBytes } = await explode(maxBodyMib * MIB);
  expect(reason).toBe(want);
  expect(grownBytes).toBeLessThan(grownMib * MIB);
  expect(keptBytes).toBe(0);
});
