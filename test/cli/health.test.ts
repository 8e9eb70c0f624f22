// `health` where the daemon listens on all addresses, or something else answers; all else is in test/transcripts/health.

import { expect, onTestFinished, test } from 'vitest';
import { verb } from '../../src/cli/health.ts';
import { Counters } from '../../src/lib/counters.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { startStatusServer, type StatusServer } from '../../src/status/status-server.ts';
import { startHttpServer } from '../support/http-server.ts';
import { useDirectory } from '../support/temporary-directory.ts';
import { callVerb, type Printed } from '../support/verb-context.ts';

const directory = useDirectory();

async function serve(): Promise<StatusServer> {
  const report = (): never => {
    throw new Error('not asked for');
  };
  const pages = {
    report,
    service: report,
    cost: report,
    shape: report,
    strictAfterMs: () => 1,
    waitingFor: () => [],
  };
  const options = {
    host: '127.0.0.1',
    port: 0,
    token: () => null,
    counters: new Counters(),
    clock,
  };
  const server = await startStatusServer({ ...options, ...pages });
  onTestFinished(() => server.close());
  return server;
}

function ask(listen: string): Promise<Printed> {
  const api = { base_url: 'http://127.0.0.1:9', key: 'k' };
  const status = { listen, token: 'any' };
  const text = JSON.stringify({ api, services: [{ id: 'a' }], status });
  return callVerb(verb, ['-c', directory.write('config.yaml', text)]);
}

test('0 when the daemon is ready, also where it listens on all addresses', async () => {
  const { port } = await serve();
  const out = `ready: http://127.0.0.1:${port}/readyz\n`;
  for (const host of ['127.0.0.1', '0.0.0.0'])
    expect(await ask(`${host}:${port}`)).toEqual({ code: 0, out, err: '' });
});

test('1 with the beginning of an answer without end', async () => {
  await using server = await startHttpServer((_request, response) => {
    response.statusCode = 503;
    response.on('error', () => undefined);
    const write = (): void => {
      if (!response.destroyed && response.write('x'.repeat(1000))) setImmediate(write);
    };
    response.on('drain', write);
    write();
  });
  const { code, err } = await ask(server.origin.replace('http://', ''));
  expect([code, err]).toEqual([1, expect.stringContaining(': 503: xxx')]);
});
