// The HTTP server for the state of the program:
//
//   /healthz       200 while the process lives                         open to all
//   /readyz        200 when ready, else 503 and what is missing        open to all
//                  with ?strict=1, also 503 while an error lasts
//   /metrics       the program's own metrics, Prometheus text 0.0.4    by refusalOf()
//   /status.json   the status report with its problems                 by refusalOf(), and no other site
//   /cost          what the telemetry costs, as a page                       the same
//   /cost.json     what the telemetry costs, ?limit=20 of each list    the same
//   /shape.json    the metrics of the last pages, without labels       the same
//   /              the page, which renders status.json                 by refusalOf(), and no other site
//   /services/ID   a page for one service, with its series             the same, and mayLookClose()
//
// It only reads, and asks nobody. Node's limits bound what a client can use: connections, one request
// on each, headers, time. The server makes one page at a time. No answer repeats anything from its
// request, so an answer never contains a token; foreign text in an answer is printable.

import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip as gzipCallback } from 'node:zlib';
import type { Secret } from '../config/config.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { causeText, OperatorError } from '../errors.ts';
import { Semaphore } from '../lib/semaphore.ts';
import type { Clock } from '../lib/clock.ts';
import { type Counters, type CountersOf, renderCounters } from '../lib/counters.ts';
import { formatDuration } from '../lib/format.ts';
import { isLoopbackHost } from '../lib/loopback.ts';
import { createServer } from '../lib/node-http.ts';
import { printableJson, printableText } from '../lib/printable.ts';
import type { Loaded } from '../daemon/reload.ts';
import { renderCostPage } from './cost-page.ts';
import { COST_LIMIT_MAX, costOfDaemon, type CostReport } from './cost-report.ts';
import { PAGE_POLICY, renderMissing, renderPage } from './page.ts';
import { counted, ProblemBook } from './problem.ts';
import { lookAt, renderServicePage, type ServiceLook } from './service-page.ts';
import { type ShapeReport, shapeReport } from './shape-report.ts';
import { instant } from './times.ts';
import { reportOf, type StatusReport, waitingForOf, withProblems } from './status-report.ts';

export interface StatusServerOptions {
  /** A name or address to listen on; an IPv6 address without brackets. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Asked for each request, because a reload may change it. null leaves the pages open; the configuration allows that on loopback only. */
  readonly token: () => Secret | null;
  /** Called for `/` and /status.json, and for a brief report every DATE_MS, so that problems have dates. */
  readonly report: (isBrief: boolean) => StatusReport | Promise<StatusReport>;
  /** The report on one service; null if the configuration has no service with this id. */
  readonly service: (id: string) => ServiceLook | null | Promise<ServiceLook | null>;
  /** At most so many services, families and metrics each. */
  readonly cost: (limit: number) => Promise<CostReport>;
  readonly shape: () => ShapeReport;
  /** The steps that are missing before /readyz answers 200. */
  readonly waitingFor: () => readonly string[];
  /** How long an error may last before /readyz?strict=1 fails; asked for each request, like the token. */
  readonly strictAfterMs: () => number;
  readonly counters: Counters;
  readonly clock: Clock;
  readonly limits?: Partial<typeof STATUS_LIMITS>;
}

export const STATUS_LIMITS = {
  /** Further connections are closed at once, and counted. */
  connections: 64,
  headerBytes: 8192,
  /** The time to receive a whole request. */
  requestMs: 5000,
  /** The time without a byte in either direction. */
  idleMs: 15_000,
};

/** Node looks for slow requests every SLOW_LOOK_SHARE * `requestMs`, and closes them at most that much late. */
const SLOW_LOOK_SHARE = 3;

export interface StatusServer {
  /** `http://127.0.0.1:9464`, with the port that was taken. */
  readonly url: string;
  readonly port: number;
  /** Waits for running answers, for CLOSE_MS at most, then closes all connections. */
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  vary: 'accept-encoding',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

const TEXT = 'text/plain; charset=utf-8';
const METRICS = 'text/plain; version=0.0.4; charset=utf-8';
const NO_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** The daemon, and its configuration's file, if it has one. */
export interface Running {
  readonly daemon: Daemon;
  readonly loaded: Loaded | null;
}

/**
 * Starts the server of the configuration, on another port if one is given (0: any free one). Throws an OperatorError if
 * it cannot listen.
 */
export function serveStatus(
  running: Running,
  clock: Clock,
  port: number = running.daemon.config.status.port,
): Promise<StatusServer> {
  const { config, counters } = running.daemon;
  const { host } = config.status;
  return startStatusServer({
    host,
    port,
    token: () => running.daemon.config.status.token,
    clock,
    counters,
    report: isBrief => reportOf(running.daemon, clock, running.loaded, isBrief),
    service: async id =>
      lookAt(running.daemon, await reportOf(running.daemon, clock, running.loaded), id),
    cost: limit => costOfDaemon(running.daemon, clock.nowMs(), limit),
    shape: () => shapeReport(running.daemon.targets.map(({ table }) => table)),
    waitingFor: () => waitingForOf(running.daemon),
    strictAfterMs: () => running.daemon.config.status.strictAfterMs,
  });
}

/** Throws an OperatorError if it cannot listen. */
export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  const limits = { ...STATUS_LIMITS, ...options.limits };
  const meter = options.counters.of(STATUS_COUNTERS);
  const book = new ProblemBook();
  const pages = new Semaphore(1);
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.requestMs,
    requestTimeout: limits.requestMs,
    // How often Node looks for slow requests. Each look wakes an idle process.
    connectionsCheckingInterval: SLOW_LOOK_SHARE * limits.requestMs,
  });
  server.maxConnections = limits.connections;
  // Answers to many requests on a connection whose client reads none of them would pile up.
  server.maxRequestsPerSocket = 1;
  server.setTimeout(limits.idleMs);
  server.on('drop', () => meter.dropped.add(1, 'limit'));
  server.on('request', (request, response) => {
    void respond(request, response, { options, meter, book, pages });
  });
  await listen(server, options.host, options.port);
  // Later errors come from accept(): one connection is lost.
  server.on('error', () => meter.dropped.add(1, 'accept'));
  const { port } = server.address() as AddressInfo;
  const url = `http://${shownHost(options.host)}:${port}`;
  const closing = new AbortController();
  const dating = dateProblems(book, options, closing.signal);
  const close = async (): Promise<void> => {
    closing.abort();
    await Promise.all([dating, closeServer(server, options.clock)]);
  };
  return { url, port, close };
}

/** How often the server looks for problems without a request. Each look costs a sidecar a tenth of a scrape. */
const DATE_MS = 30_000;

/** Looks for problems until `stop`, so that the page can say since when. */
async function dateProblems(
  book: ProblemBook,
  { clock, report }: Pick<StatusServerOptions, 'clock' | 'report'>,
  stop: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(DATE_MS, stop);
    if (stop.aborted) return;
    // Ignored here: a request for the report shows the same error.
    const look = async (): Promise<unknown> => withProblems(await report(true), book);
    await look().catch(() => undefined);
  }
}

export const STATUS_COUNTERS = {
  requests: {
    name: 'prom2otlp_status_requests_total',
    help: 'Requests to the status server by the status of the answer.',
    labels: ['status'],
  },
  dropped: {
    name: 'prom2otlp_status_dropped_connections_total',
    help: 'Connections to the status server that were closed because there were too many (limit), or by a failure (accept).',
    labels: ['cause'],
  },
} as const;

interface Context {
  readonly options: StatusServerOptions;
  readonly meter: CountersOf<typeof STATUS_COUNTERS>;
  readonly book: ProblemBook;
  /** One page at a time, so that many clients do not hold up the program. */
  readonly pages: Semaphore;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  context: Context,
): Promise<void> {
  // A client may close its connection while it gets its answer.
  response.on('error', () => undefined);
  // A mistake in a report must not end the daemon.
  const { status, type, body, headers } = await answer(request, context).catch(failure);
  if (request.socket.destroyed) return;
  context.meter.requests.add(1, String(status));
  const { 'accept-encoding': accepted = '' } = request.headers;
  const isPacked = body.length > PACKED_MIN && GZIP_ACCEPTED.test(accepted);
  const bytes = isPacked ? await gzip(body) : Buffer.from(body);
  response.writeHead(status, {
    ...COMMON_HEADERS,
    'content-security-policy': NO_POLICY,
    'content-type': type,
    ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
    'content-length': bytes.length,
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

/** Shorter answers are not worth the effort. */
const PACKED_MIN = 1024;
const gzip = promisify<string, Buffer>(gzipCallback);
const GZIP_ACCEPTED = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

async function answer(request: IncomingMessage, context: Context): Promise<Answer> {
  const { options } = context;
  if (request.method !== 'GET' && request.method !== 'HEAD')
    // After closing the connection, the server need not read a body.
    return text(405, 'only GET and HEAD are answered', { allow: 'GET, HEAD', connection: 'close' });
  const [path = '', query = ''] = (request.url ?? '').split('?');
  if (path === '/healthz') return text(200, 'ok');
  if (path === '/readyz')
    return readiness(new URLSearchParams(query).get('strict') === '1', context);
  const refusal = refusalOf(request.headers, options);
  if (refusal !== null) return refusal;
  if (path === '/metrics') return ok(METRICS, printableText(renderCounters(options.counters)));
  // A page of another site may make a browser send requests, also with the token that the browser knows.
  if (request.headers['sec-fetch-site'] === 'cross-site')
    return text(403, 'another site has asked for this: type the address instead');
  return context.pages.run(async () => {
    await nextTurn();
    if (request.socket.destroyed) return text(503, 'the client is gone');
    const found = await pageOf(path, query, context);
    const isBrowser = (request.headers.accept ?? '').includes('text/html');
    return found.status === 404 && isBrowser ? missing(path, found, context) : found;
  });
}

async function pageOf(path: string, query: string, { options, book }: Context): Promise<Answer> {
  switch (path) {
    case '/':
      return page(renderPage(withProblems(await options.report(false), book)));
    case '/status.json': {
      const document = withProblems(await options.report(false), book);
      return ok('application/json', `${printableJson(document)}\n`);
    }
    case '/cost': {
      const document = withProblems(await options.report(true), book, true);
      return page(renderCostPage(document, await options.cost(COST_SHOWN)));
    }
    case '/cost.json': {
      const limit = Number(new URLSearchParams(query).get('limit') ?? COST_SHOWN);
      if (!Number.isInteger(limit) || limit < 1 || limit > COST_LIMIT_MAX)
        return text(400, `limit: expected a number from 1 to ${COST_LIMIT_MAX}`);
      return ok('application/json', `${printableJson(await options.cost(limit))}\n`);
    }
    case '/shape.json':
      return ok('application/json', `${printableJson(options.shape())}\n`);
    default:
      return closeLook(path, options, book);
  }
}

/** Entries of each list of /cost, and of /cost.json without a limit. */
const COST_SHOWN = 20;

const CLOSE_PATH = /^\/services\/([^/]+)$/;

async function closeLook(
  path: string,
  options: StatusServerOptions,
  book: ProblemBook,
): Promise<Answer> {
  const [, name = ''] = CLOSE_PATH.exec(path) ?? [];
  if (name === '') return text(404, `there is no such path: the paths are ${PATHS}`);
  if (!mayLookClose(options))
    return text(403, 'labels can hold data: set status.token, or listen on 127.0.0.1');
  const look = await options.service(decoded(name));
  if (look === null) return text(404, NO_SERVICE);
  return page(renderServicePage(withProblems(look, book, true)));
}

/** A 404 for people: in the design of the page, with the same words. */
async function missing(path: string, found: Answer, { options, book }: Context): Promise<Answer> {
  const document = withProblems(await options.report(true), book, true);
  const depth = path.split('/').length - 2;
  return { ...page(renderMissing(document, found.body.trim(), depth)), status: 404 };
}

const PATHS =
  '/, /services/ID, /status.json, /cost, /cost.json, /shape.json, /metrics, /healthz and /readyz';
const NO_SERVICE = 'the configuration has no service with this id';

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return '';
  }
}

/** Labels can hold data, such as the text of a statement: series need a token, or a server on loopback. */
function mayLookClose({ token, host }: AccessRules): boolean {
  return token() !== null || isLoopbackHost(host);
}

function failure(error: unknown): Answer {
  return text(500, `cannot show this because of a mistake in the program: ${causeText(error)}`);
}

/**
 * Strict readiness counts the errors that the last look for problems has found (DATE_MS): a client without a token makes
 * the server do no work, and learns nothing of what fails.
 */
function readiness(isStrict: boolean, { options, book }: Context): Answer {
  const missing = options.waitingFor();
  if (missing.length > 0) return text(503, ['waiting for', ...missing].join('\n  '));
  const afterMs = options.strictAfterMs();
  const count = isStrict ? book.errorsSince(instant(options.clock.nowMs() - afterMs)) : 0;
  if (count === 0) return text(200, 'ready');
  const lasting = `${counted(count, 'error')} for longer than ${formatDuration(afterMs)}`;
  return text(503, `${lasting}: prom2otlp status shows what to do`);
}

function page(body: string): Answer {
  return ok('text/html; charset=utf-8', body, { 'content-security-policy': PAGE_POLICY });
}

function ok(type: string, body: string, headers: Answer['headers'] = {}): Answer {
  return { status: 200, type, body, headers };
}

function text(status: number, line: string, headers: Answer['headers'] = {}): Answer {
  return { ...ok(TEXT, `${printableText(line)}\n`, headers), status };
}

// Access to the status page. With a token: every client that sends it, as `Authorization: Bearer TOKEN` or, for
// browsers, as the password of Basic (RFC 7617, any user name). Without a token, which the configuration allows on
// loopback only: every client whose Host header names this machine. A foreign web page can resolve its own name to
// 127.0.0.1 (DNS rebinding), but it cannot choose that header.

/** The challenges of a 401; browsers use the second. */
const CHALLENGES: readonly string[] = [
  'Bearer realm="prom2otlp"',
  'Basic realm="prom2otlp", charset="UTF-8"',
];

type AccessRules = Pick<StatusServerOptions, 'token' | 'host'>;

/** The answer to a client without access; null if it has access. */
export function refusalOf(
  headers: IncomingHttpHeaders,
  { token, host }: AccessRules,
): Answer | null {
  const wanted = token();
  if (wanted !== null) {
    const given = tokenOf(headers.authorization ?? '');
    if (given !== null && isEqual(given, wanted.reveal())) return null;
    const challenges = { 'www-authenticate': CHALLENGES };
    return text(401, 'this path needs the token in status.token', challenges);
  }
  const asked = (headers.host ?? '').replace(/:\d*$/, '').toLowerCase();
  if (!isLoopbackHost(host) || isLoopbackHost(asked) || asked === host) return null;
  return text(403, 'use the name localhost, or set status.token to allow other names');
}

function tokenOf(authorization: string): string | null {
  const [, scheme = '', value = ''] = /^(\S+) +(\S+) *$/.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return null;
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon < 0 ? null : pair.slice(colon + 1);
}

/** Takes the same time for every wrong token. */
function isEqual(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(given), digest(wanted));
}

// Start and end of the server. An address that cannot be used is the operator's mistake. The end
// waits for running answers, but only for a limited time.

export const CLOSE_MS = 1000;

/** Throws an OperatorError with the cause if the server cannot listen. */
async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    await once(server.listen({ host, port }), 'listening');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const [cause, hint] = LISTEN_ADVICE[code] ?? [
      causeText(error),
      'choose another address or port',
    ];
    const message = `cannot listen on ${shownHost(host)}:${port}: ${cause}`;
    // The other program may stop using the port.
    const isTransient = code === 'EADDRINUSE';
    throw new OperatorError([{ key: 'status.listen', message, hint, isTransient }], {
      cause: error,
    });
  }
}

const NO_ADDRESS = [
  'this machine has no such address',
  'use 127.0.0.1, or 0.0.0.0 for all addresses of the machine',
] as const;

const LISTEN_ADVICE: Readonly<Record<string, readonly [cause: string, hint: string]>> = {
  EADDRINUSE: [
    'the port is in use',
    'end the other program (another prom2otlp?), or choose another port',
  ],
  EACCES: ['permission denied', 'choose a port from 1024 on'],
  EADDRNOTAVAIL: NO_ADDRESS,
  ENOTFOUND: NO_ADDRESS,
};

function shownHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Closes idle connections at once, others after their answers, all of them after CLOSE_MS. */
async function closeServer(server: Server, clock: Clock): Promise<void> {
  const cancel = clock.after(CLOSE_MS, () => server.closeAllConnections());
  await new Promise<void>(resolve => server.close(() => resolve()));
  cancel();
}
