// The health check of the image, against a server that answers as the daemon does.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findClosedPort, startHttpServer } from '../support/http-server.ts';

const SCRIPT = 'bin/healthcheck.js';

function check(address: string): Promise<{ readonly code: number | null; readonly err: string }> {
  const env = { PROM2OTLP_HEALTH: address };
  return new Promise(resolve => {
    const child = execFile(process.execPath, [SCRIPT], { env }, (_error, _out, err) =>
      resolve({ code: child.exitCode, err }),
    );
  });
}

test('0 where the daemon is ready, 1 with the reason where it is not', async () => {
  let isReady = true;
  await using server = await startHttpServer((request, response) => {
    expect(request.path).toBe('/readyz');
    response.writeHead(isReady ? 200 : 503).end(isReady ? 'ready\n' : 'the first scrape\nof a\n');
  });
  const { host } = new URL(server.origin);
  expect(await check(host)).toEqual({ code: 0, err: '' });
  isReady = false;
  const err = `not ready: http://${host}/readyz: 503: the first scrape; of a\n`;
  expect(await check(host)).toEqual({ code: 1, err });
});

test('1 where nobody listens', async () => {
  const { code, err } = await check(`127.0.0.1:${await findClosedPort()}`);
  expect(code).toBe(1);
  expect(err).toContain('ECONNREFUSED');
});

test('the image runs it, and it asks the default address', () => {
  expect(readFileSync('Dockerfile', 'utf8')).toMatch(
    /^ {2}CMD \["node", .*"bin\/healthcheck\.js"\]$/m,
  );
  const samples = readFileSync('docs/use/configuration.md', 'utf8');
  const [listen] = /127\.0\.0\.1:\d+/.exec(readFileSync(SCRIPT, 'utf8')) ?? ['?'];
  expect(samples).toContain(listen);
});
