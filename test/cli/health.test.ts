// `health` against status servers like the daemon's.

import { expect, onTestFinished, test } from 'vitest';
import { verb } from '../../src/cli/health.ts';
import { Counters } from '../../src/lib/counters.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { startStatusServer, type StatusServer } from '../../src/status/status-server.ts';
import { findClosedPort, startHttpServer } from '../support/http-server.ts';
import { useDirectory } from '../support/temporary-directory.ts';
import { callVerb, type Printed } from '../support/verb-context.ts';

const directory = useDirectory();

async function serve(waitingFor: readonly string[] = []): Promise<StatusServer> {
  const report = (): never => {
    throw new Error('not asked for');
  };
  const pages = {
    report,
    service: report,
    cost: report,
    shape: report,
    strictAfterMs: () => 1,
    waitingFor: () => waitingFor,
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

function ask(listen: string, environment = {}): Promise<Printed> {
  const api = { base_url: 'http://127.0.0.1:9', key: 'k' };
  const status = { listen, token: 'any' };
  const text = JSON.stringify({ api, services: [{ id: 'a' }], status });
  return callVerb(verb, ['-c', directory.write('config.yaml', text)], { environment });
}

test('0 when the daemon is ready, also where it listens on all addresses', async () => {
  const { port } = await serve();
  const out = `ready: http://127.0.0.1:${port}/readyz\n`;
  for (const host of ['127.0.0.1', '0.0.0.0'])
    expect(await ask(`${host}:${port}`)).toEqual({ code: 0, out, err: '' });
});

test('1 with what is missing, while the daemon starts', async () => {
  const { port } = await serve(['the first scrape of a']);
  const { code, out, err } = await ask(`127.0.0.1:${port}`);
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(/^not ready: http:\S+\/readyz: 503: .*the first scrape of a\n$/);
});

test('1 with the reason when nobody answers, and when nobody can know where', async () => {
  const gone = await ask(`127.0.0.1:${await findClosedPort()}`);
  expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
  const free = await ask('127.0.0.1:0');
  expect([free.code, free.err]).toEqual([1, expect.stringContaining('any free port')]);
  const listen = `127.0.0.1:${await findClosedPort()}`;
  const broken = directory.write('broken.yaml', `api: {}\nstatus: {listen: "${listen}"}\n`);
  const bad = await callVerb(verb, ['--config', broken]);
  expect([bad.code, bad.err]).toEqual([
    1,
    expect.stringMatching(/^not ready: .*\n.*base_url: missing/),
  ]);
});

test('0 although the file has a mistake: a running daemon does not use it', async () => {
  const { port } = await serve();
  const text = `api: {}\nstatus: {listen: "127.0.0.1:${port}"}\n`;
  const { code, err } = await callVerb(verb, ['--config', directory.write('mistake.yaml', text)]);
  expect([code, err]).toEqual([0, '']);
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

test('finds the configuration by the variable', async () => {
  const environment = { PROM2OTLP_CONFIG: directory.path + '/nowhere.yaml' };
  const { code, err } = await callVerb(verb, [], { environment });
  expect([code, err]).toEqual([1, expect.stringContaining('nowhere.yaml": there is no such file')]);
});
