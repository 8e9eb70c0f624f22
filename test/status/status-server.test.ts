import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { OperatorError } from '../../src/errors.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import {
  CLOSE_MS,
  startStatusServer,
  STATUS_COUNTERS,
  type StatusServer,
  type StatusServerOptions,
} from '../../src/status/status-server.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import { ask as askUrl, type Question } from '../support/ask.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { lookOf, sampleReport } from './sample-report.ts';

const TOKEN = 'canary-5f1c2a9be07d';
const MINUTE_MS = 60_000;

interface Running extends AsyncDisposable {
  readonly server: StatusServer;
  /** Opens a connection, and ignores its errors, such as a reset. */
  readonly connect: () => Socket;
  /** The value of a counter of the server. */
  readonly count: (name: 'requests' | 'dropped', label: string) => number;
}

async function start(changes: Partial<StatusServerOptions> = {}): Promise<Running> {
  const counters = new Counters();
  const server = await startStatusServer({
    host: '127.0.0.1',
    port: 0,
    token: () => null,
    report: () => sampleReport(),
    service: id => lookOf(sampleReport(), id),
    cost: () => Promise.reject(new Error('not asked for')),
    shape: () => ({ pages: [], metrics: [], metricsLeftOut: 0 }),
    waitingFor: () => [],
    strictAfterMs: () => MINUTE_MS,
    counters,
    clock: systemClock,
    ...changes,
  });
  return {
    server,
    connect: () => connect(server.port, '127.0.0.1').on('error', () => undefined),
    count: (name, label) =>
      counters
        .list()
        .find(one => one.name.includes(name))
        ?.get(label) ?? 0,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

type Answer = Awaited<ReturnType<typeof ask>>;

async function ask({ server }: Pick<Running, 'server'>, path: string, question?: Question) {
  const { status, headers, body: bytes } = await askUrl(server.url + path, question);
  return { status, headers, bytes, body: bytes.toString() };
}

async function statusOf(...args: Parameters<typeof ask>): Promise<number> {
  return (await ask(...args)).status;
}

test('the page, its data and the counters are served', async () => {
  await using running = await start();
  const page = await ask(running, '/');
  expect(page.status).toBe(200);
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.body).toContain('Data flows');
  const json = await ask(running, '/status.json?pretty');
  expect(json.headers['content-type']).toBe('application/json');
  expect(JSON.parse(json.body)).toEqual({ ...sampleReport(), problems: [] });
  const metrics = await ask(running, '/metrics');
  expect(metrics.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(metrics.body).toContain('\nprom2otlp_status_requests_total{status="200"} 2\n');
});

test('long answers are packed for clients that take that', async () => {
  await using running = await start();
  const encodingFor = async (accepted: Record<string, string>): Promise<unknown> =>
    (await ask(running, '/', { headers: accepted })).headers['content-encoding'];
  expect(await encodingFor({})).toBe(undefined);
  expect(await encodingFor({ 'accept-encoding': 'gzip;q=0' })).toBe(undefined);
  const { headers, bytes } = await ask(running, '/', {
    headers: { 'accept-encoding': 'br, gzip' },
  });
  expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  expect(gunzipSync(bytes).toString()).toContain('Data flows');
});

test('the report is made anew for every request, and may take its time', async () => {
  let count = 0;
  const report = async (): Promise<ReturnType<typeof sampleReport>> => {
    await Promise.resolve();
    return sampleReport({ version: `v${++count}` });
  };
  await using running = await start({ report });
  const versionOf = async (): Promise<unknown> =>
    JSON.parse((await ask(running, '/status.json')).body).version;
  expect([await versionOf(), await versionOf()]).toEqual(['v1', 'v2']);
});

test('a failed report affects only the page', async () => {
  const report = (): never => {
    throw new Error('no report');
  };
  await using running = await start({ report });
  const { status, body } = await ask(running, '/');
  expect([status, body]).toEqual([
    500,
    'cannot show this because of a mistake in the program: no report\n',
  ]);
  expect(await statusOf(running, '/healthz')).toBe(200);
});

test('liveness and readiness differ', async () => {
  let waitingFor = ['the queue', 'the first cycle'];
  await using running = await start({ waitingFor: () => waitingFor });
  expect(await ask(running, '/healthz')).toMatchObject({ status: 200, body: 'ok\n' });
  expect(await ask(running, '/readyz')).toMatchObject({
    status: 503,
    body: 'waiting for\n  the queue\n  the first cycle\n',
  });
  waitingFor = [];
  expect(await ask(running, '/readyz')).toMatchObject({ status: 200, body: 'ready\n' });
});

test('strict readiness fails while an error lasts too long, and names nothing without a token', async () => {
  const clock = new FakeClock();
  let queueTrouble: string | null = 'the disk is full';
  const report = (): StatusReport =>
    sampleReport({ reportedAt: new Date(clock.nowMs()).toISOString(), queueTrouble });
  await using running = await start({ clock, report, token: () => new ConfigSecret(TOKEN) });
  const strict = (): Promise<Answer> => ask(running, '/readyz?strict=1');
  // The server itself looks for problems, twice a minute.
  await clock.advance(30_000);
  expect((await strict()).status).toBe(200);
  await clock.advance(60_000);
  expect((await strict()).status).toBe(200);
  await clock.advance(1);
  expect(await strict()).toMatchObject({
    status: 503,
    body: '1 error for longer than 1 min: prom2otlp status shows what to do\n',
  });
  for (const path of ['/readyz', '/readyz?strict=0'])
    expect(await statusOf(running, path)).toBe(200);
  queueTrouble = null;
  await clock.advance(30_000);
  expect((await strict()).status).toBe(200);
});

describe('a close look at one service', () => {
  test('is a page', async () => {
    await using running = await start();
    const page = await ask(running, '/services/dbpgf1');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.body).toContain('engine_queries_total');
  });

  test('exists for configured services only; an id may be escaped', async () => {
    const asked: string[] = [];
    const service = (id: string): null => {
      asked.push(id);
      return null;
    };
    await using running = await start({ service });
    for (const path of ['/services/x', '/services/a%2Fb', '/services/%zz'])
      expect(await statusOf(running, path), path).toBe(404);
    expect(asked).toEqual(['x', 'a/b', '']);
    for (const path of ['/services', '/services/', '/services/a/b'])
      expect(await statusOf(running, path), path).toBe(404);
  });

  test('needs the token, or loopback: labels can hold data', async () => {
    await using open = await start({ host: '0.0.0.0' });
    await using guarded = await start({ host: '0.0.0.0', token: () => new ConfigSecret(TOKEN) });
    const headers = { authorization: `Bearer ${TOKEN}` };
    const path = '/services/dbpgf1';
    expect(await statusOf(open, path)).toBe(403);
    expect(await statusOf(guarded, path)).toBe(401);
    expect(await statusOf(guarded, path, { headers })).toBe(200);
  });
});

test('a browser gets a page for a path that has none, other clients get a line', async () => {
  await using running = await start();
  const headers = { accept: 'text/html,*/*;q=0.8' };
  for (const path of ['/canary', '/canary/canary', '/services/canary']) {
    const { status, headers: found, body } = await ask(running, path, { headers });
    expect([status, found['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(found['content-security-policy']).toContain("default-src 'none'");
    expect(body).toContain('<strong>Not found</strong>');
    expect(body).not.toContain('canary');
    expect((await ask(running, path)).headers['content-type']).toMatch(/^text\/plain/);
  }
});

test('another site gets no page, not even with the token', async () => {
  await using running = await start({ token: () => new ConfigSecret(TOKEN) });
  const site = (value: string) => ({
    headers: { authorization: `Bearer ${TOKEN}`, 'sec-fetch-site': value },
  });
  for (const path of ['/', '/status.json', '/services/dbpgf1', '/nowhere'])
    expect(await statusOf(running, path, site('cross-site')), path).toBe(403);
  for (const path of ['/healthz', '/readyz', '/metrics'])
    expect(await statusOf(running, path, site('cross-site')), path).toBe(200);
  for (const value of ['none', 'same-origin', 'same-site'])
    expect(await statusOf(running, '/', site(value)), value).toBe(200);
});

test('foreign text in an answer cannot control a terminal', async () => {
  const evil = 'x\u001B[2J\u009B\u202Ey';
  const counters = new Counters();
  await using running = await start({
    counters,
    report: () => sampleReport({ version: evil }),
    waitingFor: () => [evil],
  });
  counters.of(STATUS_COUNTERS).dropped.add(1, evil);
  const json = (await ask(running, '/status.json')).body;
  expect(JSON.parse(json).version).toBe(evil);
  const bodies = [json];
  for (const path of ['/', '/metrics', '/readyz']) bodies.push((await ask(running, path)).body);
  for (const body of bodies) expect(body.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202E]/u);
});

test('an unknown path is refused, and nothing of the request is echoed', async () => {
  await using running = await start();
  const check = async (method: string, path: string, status: number): Promise<void> => {
    const answer = await ask(running, path, { method });
    expect(answer.status).toBe(status);
    expect(answer.body).not.toContain('canary');
    expect(JSON.stringify(answer.headers)).not.toContain('canary');
  };
  await check('GET', '/canary', 404);
  await check('GET', '//canary/../status.json', 404);
  await check('GET', '/status.json/', 404);
  await check('GET', '/?canary', 200);
  await check('POST', '/', 405);
  await check('DELETE', '/healthz', 405);
  await check('OPTIONS', '/canary', 405);
  const { headers } = await ask(running, '/', { method: 'PUT' });
  expect(headers.allow).toBe('GET, HEAD');
});

test('HEAD gives the headers of GET and no body', async () => {
  const report = sampleReport();
  await using running = await start({ report: () => report });
  for (const path of ['/', '/status.json', '/healthz', '/nowhere']) {
    const get = await ask(running, path);
    const head = await ask(running, path, { method: 'HEAD' });
    expect(head.body).toBe('');
    expect({ ...head.headers, date: '' }).toEqual({ ...get.headers, date: '' });
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(get.body)));
  }
});

test('no answer may be stored, framed, sniffed or read by another site', async () => {
  await using running = await start({ token: () => new ConfigSecret(TOKEN) });
  for (const path of ['/', '/status.json', '/healthz', '/nowhere']) {
    const { headers } = await ask(running, path, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'.*frame-ancestors 'none'$/,
    );
    expect(headers['access-control-allow-origin']).toBeUndefined();
  }
});

describe('with a token', () => {
  test('only the health paths are open to all, and it is in no answer', async () => {
    await using running = await start({ token: () => new ConfigSecret(TOKEN), host: '0.0.0.0' });
    expect(running.server.url).toBe(`http://0.0.0.0:${running.server.port}`);
    const url = `http://127.0.0.1:${running.server.port}`;
    const local = { ...running, server: { ...running.server, url } };
    const basic = Buffer.from(`me:${TOKEN}`).toString('base64');
    const isOpen = {
      '': false,
      [`Bearer ${TOKEN}`]: true,
      [`Bearer ${TOKEN}x`]: false,
      [`Basic ${basic}`]: true,
    };
    const answers: Answer[] = [];
    const check = async (path: string, whenOpen: number, whenNot: number): Promise<void> => {
      for (const [authorization, isAllowed] of Object.entries(isOpen))
        for (const method of ['GET', 'HEAD', 'POST']) {
          const answer = await ask(local, path, { method, headers: { authorization } });
          expect(answer.status).toBe(method === 'POST' ? 405 : isAllowed ? whenOpen : whenNot);
          answers.push(answer);
        }
    };
    for (const path of ['/', '/status.json', '/metrics']) await check(path, 200, 401);
    await check(`/${TOKEN}`, 404, 401);
    for (const path of ['/healthz', '/readyz']) await check(path, 200, 200);
    const all = JSON.stringify(answers.map(({ headers, body }) => ({ headers, body })));
    expect(all).not.toContain(TOKEN);
    expect(all).not.toContain(basic);
  });

  test('a browser gets a login prompt', async () => {
    await using running = await start({ token: () => new ConfigSecret(TOKEN) });
    const { headers } = await ask(running, '/');
    expect(headers['www-authenticate']).toBe(
      'Bearer realm="prom2otlp", Basic realm="prom2otlp", charset="UTF-8"',
    );
  });
});

test('on loopback without a token, foreign host names are refused', async () => {
  await using running = await start();
  const check = async (path: string, host: string, status: number): Promise<void> =>
    expect(await statusOf(running, path, { headers: { host } })).toBe(status);
  await check('/', `localhost:${running.server.port}`, 200);
  await check('/', 'evil.example.com', 403);
  await check('/status.json', `evil.example.com:${running.server.port}`, 403);
  await check('/metrics', '127.0.0.1.evil.example.com', 403);
  await check('/healthz', 'evil.example.com', 200);
});

describe('bounds', () => {
  const droppedOf = ({ count }: Running): number => count('dropped', 'limit');

  test('beyond the limit, connections are closed at once, and counted', async () => {
    await using running = await start({ limits: { connections: 3 } });
    const silent = Array.from({ length: 3 }, running.connect);
    await Promise.all(silent.map(socket => once(socket, 'connect')));
    await expect(statusOf(running, '/healthz')).rejects.toThrow();
    expect(droppedOf(running)).toBe(1);
    const [first] = silent;
    first?.destroy();
    await expect.poll(() => statusOf(running, '/healthz').catch(() => 0)).toBe(200);
    for (const socket of silent) socket.destroy();
  });

  test('a silent connection is closed, so that others get its place', async () => {
    await using running = await start({ limits: { idleMs: 100 } });
    await once(running.connect(), 'close');
  });

  test('a connection has one answer: what else it asks for is not made', async () => {
    let reports = 0;
    const report = (): ReturnType<typeof sampleReport> =>
      sampleReport({ version: `v${++reports}` });
    await using running = await start({ report });
    const socket = running.connect().setEncoding('utf8');
    let text = '';
    socket.on('data', (more: string) => (text += more));
    socket.write('GET /status.json HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(1000));
    await expect.poll(() => text).toMatch(/^HTTP\/1\.1 200 .*connection: close.*"version": "v1"/is);
    // Another page comes after all that the server makes of this connection.
    for (let i = 0; i < 3; i++) expect(await statusOf(running, '/')).toBe(200);
    const others = 3;
    expect(text.match(/"version": "v\d"/g)).toEqual(['"version": "v1"']);
    expect(reports).toBe(1 + others);
  });

  test('pages are made one at a time, none for a client that has gone, and a probe waits for none', async () => {
    const gate = Promise.withResolvers<void>();
    let [reports, running, most] = [0, 0, 0];
    const report = async (): Promise<ReturnType<typeof sampleReport>> => {
      reports++;
      most = Math.max(most, ++running);
      await gate.promise;
      running--;
      return sampleReport();
    };
    await using server = await start({ report });
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    const gone = Array.from({ length: 20 }, server.connect);
    await Promise.all(gone.map(socket => once(socket, 'connect')));
    for (const socket of gone) socket.write(get('/status.json'));
    // The answers show that the earlier requests have arrived, and then that their clients have gone.
    for (let i = 0; i < 3; i++) expect(await statusOf(server, '/healthz')).toBe(200);
    for (const socket of gone) socket.destroy();
    for (let i = 0; i < 3; i++) expect(await statusOf(server, '/healthz')).toBe(200);
    const asked = ['/', '/status.json', '/services/dbpgf1'].map(path => statusOf(server, path));
    expect(await statusOf(server, '/healthz')).toBe(200);
    gate.resolve();
    expect(await Promise.all(asked)).toEqual([200, 200, 200]);
    expect(most).toBe(1);
    // Reports for the first client that has gone, and for two of the three other requests.
    expect(reports).toBe(3);
  });

  test('a client that does not finish its request is cut off', async () => {
    await using running = await start({ limits: { requestMs: 200, idleMs: 5000 } });
    const socket = running.connect();
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
    expect(await allBytes(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('headers beyond the limit are refused', async () => {
    await using running = await start();
    const headers = { 'x-long': 'x'.repeat(9000) };
    expect(await statusOf(running, '/', { headers })).toBe(431);
  });

  test('a request with an unread body does not hold the connection', async () => {
    await using running = await start();
    const socket = running.connect();
    socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\nstart');
    expect(await allBytes(socket)).toMatch(/^HTTP\/1\.1 405 .*connection: close/is);
  });
});

describe('listening', () => {
  async function mistakeOf(host: string, port: number): Promise<unknown> {
    const error: unknown = await start({ host, port }).catch((cause: unknown) => cause);
    return error instanceof OperatorError ? error.mistakes : error;
  }

  test('a port that is taken, and an address that this machine does not have, are mistakes', async () => {
    await using running = await start();
    const { port } = running.server;
    const shared = { key: 'status.listen' };
    expect(await mistakeOf('127.0.0.1', port)).toEqual([
      {
        ...shared,
        message: `cannot listen on 127.0.0.1:${port}: the port is in use`,
        hint: 'end the other program (another prom2otlp?), or choose another port',
        isTransient: true,
      },
    ]);
    const message = 'cannot listen on 192.0.2.1:0: this machine has no such address';
    expect(await mistakeOf('192.0.2.1', 0)).toMatchObject([{ ...shared, message }]);
  });

  test('the end closes connections that are kept alive, idle or in the middle', async () => {
    const clock = new FakeClock();
    const running = await start({ clock });
    const idle = running.connect();
    await firstBytes(idle, 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    const unfinished = running.connect();
    await firstBytes(unfinished, 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET / HTT');
    const closed = once(unfinished, 'close');
    const ended = running.server.close();
    await once(idle, 'close');
    expect(unfinished.closed).toBe(false);
    await clock.advance(CLOSE_MS);
    await Promise.all([ended, closed]);
    await expect(statusOf(running, '/healthz')).rejects.toThrow('ECONNREFUSED');
  });
});

async function firstBytes(socket: Socket, bytes: string): Promise<string> {
  socket.write(bytes);
  const [chunk] = await once(socket, 'data');
  return String(chunk);
}

async function allBytes(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, 'close');
  return text;
}
