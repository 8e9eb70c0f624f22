// Serves what the bridge says of itself over HTTP:
//
//   /healthz       200 while the process lives                         open to all
//   /readyz        200 when ready, else 503 and what it waits for      open to all
//   /metrics       its counters, Prometheus text 0.0.4                 by checkAccess()
//   /status.json   the status report with its problems                 by checkAccess()
//   /              the page, which renders status.json                 by checkAccess()
//
// It only reads. Everything a client can take is bounded: connections, headers, time. Over the limit of connections an
// old one gives way to a new one, so that nobody can keep a probe out. No answer repeats anything of its request, so no
// token can come back in one.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Secret } from '../config/config.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { causeText, OperatorError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { type Counter, type Counters, renderCounters } from '../lib/counters.ts';
import { isLoopbackHost } from '../lib/loopback.ts';
import { createServer } from '../lib/node-http.ts';
import type { Reload } from '../daemon/reload.ts';
import { PAGE_POLICY, renderPage } from './page.ts';
import {
  reportOf,
  type StatusDocument,
  type StatusReport,
  waitingForOf,
  withProblems,
} from './status-report.ts';

export interface StatusServerOptions {
  /** A name or address to listen on; an IPv6 address without brackets. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** null leaves the pages open; the configuration allows that on loopback only. */
  readonly token: Secret | null;
  /** Made anew for every request. */
  readonly report: () => StatusReport | Promise<StatusReport>;
  readonly isReady: () => Readiness;
  readonly counters: Counters;
  readonly clock: Clock;
  readonly limits?: Partial<StatusLimits>;
}

interface Readiness {
  readonly ready: boolean;
  /** In words, for everybody to read. */
  readonly waitingFor: readonly string[];
}

/** What clients may take. */
interface StatusLimits {
  /** With one more, the one that was silent for longest is closed, and counted. */
  readonly connections: number;
  readonly headerBytes: number;
  /** For a whole request to come in. */
  readonly requestMs: number;
  /** Without a byte in either direction. */
  readonly idleMs: number;
}

export const STATUS_LIMITS: StatusLimits = {
  connections: 64,
  headerBytes: 8 * 1024,
  requestMs: 5000,
  idleMs: 15_000,
};

/** Connections that may come in at once, beyond the limit, until it is looked which are to go. */
const BURST_MAX = 1024;
/** So long a connection may take to ask, and to read its answer, before it gives way to those that have just come in. */
const PATIENCE_MS = 1000;

export interface StatusServer {
  /** `http://127.0.0.1:9464`, with the port that was taken. */
  readonly url: string;
  readonly port: number;
  /** Lets answers under way end, for CLOSE_MS at most, and closes every connection. */
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

const TEXT = 'text/plain; charset=utf-8';
const NO_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** The daemon that runs now; a reload replaces it. */
export interface Running {
  readonly daemon: Daemon;
  readonly lastReload: Reload | null;
}

/** Starts the server that the configuration asks for. Throws an OperatorError when its port cannot be had. */
export function serveStatus(running: Running, clock: Clock): Promise<StatusServer> {
  const { config, counters } = running.daemon;
  const { host, port, token } = config.status;
  return startStatusServer({
    host,
    port,
    token,
    clock,
    counters,
    report: () => reportOf(running.daemon, clock, running.lastReload),
    isReady: () => {
      const waitingFor = waitingForOf(running.daemon);
      return { ready: waitingFor.length === 0, waitingFor };
    },
  });
}

/** Listens, or throws OperatorError where that is impossible. */
export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  const limits = { ...STATUS_LIMITS, ...options.limits };
  const meter = createMeter(options.counters);
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.requestMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.requestMs,
      // How often Node looks for requests that are too slow: each look wakes a process that is idle otherwise.
      connectionsCheckingInterval: limits.requestMs,
    },
    (request, response) => void respond(request, response, { options, meter }),
  );
  server.maxConnections = limits.connections + BURST_MAX;
  server.setTimeout(limits.idleMs);
  server.on('drop', () => meter.dropped.add(1, 'limit'));
  const onClosed = (): void => meter.dropped.add(1, 'limit');
  makeWay(server, limits.connections, { clock: options.clock, onClosed });
  await listen(server, options.host, options.port);
  // From here on, errors are those of accept(): this connection is lost, the next may do better.
  server.on('error', () => meter.dropped.add(1, 'accept'));
  const { port } = server.address() as AddressInfo;
  const url = `http://${shownHost(options.host)}:${port}`;
  return { url, port, close: () => closeServer(server, options.clock) };
}

/**
 * Over the limit, closes the connection that was silent for longest. A new one may still ask: a client that does not
 * read its answer goes before it. A client that waits for its answer goes only when there is no other. New connections
 * are read first: a probe that comes with many others has asked by then.
 */
function makeWay(
  server: Server,
  connectionsMax: number,
  { clock, onClosed }: { readonly clock: Clock; readonly onClosed: () => void },
): void {
  /** When each was last heard of, longest ago first. */
  const open = new Map<Socket, number>();
  const answers = new Map<Socket, ServerResponse>();
  const hearOf = (socket: Socket): void => {
    if (open.delete(socket)) open.set(socket, clock.monotonicMs());
  };
  const isSilent = (socket: Socket): boolean => !answers.has(socket);
  const isUnread = (socket: Socket): boolean => answers.get(socket)?.writableEnded === true;
  const isOld = (socket: Socket): boolean =>
    clock.monotonicMs() - (open.get(socket) ?? 0) >= PATIENCE_MS;
  const order: readonly ((socket: Socket) => boolean)[] = [
    socket => isSilent(socket) && isOld(socket),
    socket => isUnread(socket) && isOld(socket),
    isSilent,
    isUnread,
    () => true,
  ];
  const trim = (): void => {
    for (const mayGo of order)
      for (const socket of open.keys()) {
        if (open.size <= connectionsMax) return;
        if (!mayGo(socket)) continue;
        open.delete(socket);
        socket.destroy();
        onClosed();
      }
  };
  server.on('connection', socket => {
    open.set(socket, clock.monotonicMs());
    socket.on('close', () => {
      open.delete(socket);
      answers.delete(socket);
    });
    // The first turn ends the one that has taken this connection, the second the one that has read from it.
    if (open.size > connectionsMax) setImmediate(() => setImmediate(trim));
  });
  server.on('request', ({ socket }, response) => {
    answers.set(socket, response);
    hearOf(socket);
    response.on('close', () => {
      if (answers.get(socket) === response) answers.delete(socket);
      hearOf(socket);
    });
  });
}

interface Meter {
  readonly requests: Counter;
  readonly dropped: Counter;
}

function createMeter(counters: Counters): Meter {
  return {
    requests: counters.counter(
      'prom2otlp_status_requests_total',
      'Requests to the status server by the status of the answer.',
      ['status'],
    ),
    dropped: counters.counter(
      'prom2otlp_status_dropped_connections_total',
      'Connections to the status server that were closed to make room for a newer one (limit), or by a failure (accept).',
      ['cause'],
    ),
  };
}

interface Context {
  readonly options: StatusServerOptions;
  readonly meter: Meter;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  context: Context,
): Promise<void> {
  // A client that goes away while it is answered is no failure of ours.
  response.on('error', () => undefined);
  // A mistake in the status must not end the daemon.
  const found = await answer(request, context).catch(failure);
  const { status, type, body, headers = {} } = found;
  context.meter.requests.add(1, String(status));
  response.writeHead(status, {
    ...COMMON_HEADERS,
    'content-security-policy': NO_POLICY,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function answer(request: IncomingMessage, { options }: Context): Promise<Answer> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    // Closing spares reading a body that nobody wants.
    return text(405, 'only GET and HEAD are answered', { allow: 'GET, HEAD', connection: 'close' });
  const path = request.url?.split('?', 1)[0];
  if (path === '/healthz') return text(200, 'ok');
  if (path === '/readyz') return readiness(options.isReady());
  const access = checkAccess(request.headers, options);
  if (access === 'token_needed')
    return text(401, 'this needs the token of status.token', { 'www-authenticate': CHALLENGES });
  if (access === 'foreign_host')
    return text(403, 'ask for localhost, or set status.token to be asked by another name');
  switch (path) {
    case '/':
      return page(withProblems(await options.report()));
    case '/status.json':
      return json(withProblems(await options.report()));
    case '/metrics':
      return metrics(options.counters);
    default:
      return text(404, 'there is / and /status.json, /metrics, /healthz, /readyz');
  }
}

function failure(error: unknown): Answer {
  return text(500, `this cannot be shown, by a mistake in the program: ${causeText(error)}`);
}

function readiness({ ready, waitingFor }: Readiness): Answer {
  return ready ? text(200, 'ready') : text(503, ['waiting for', ...waitingFor].join('\n  '));
}

function page(document: StatusDocument): Answer {
  const headers = { 'content-security-policy': PAGE_POLICY };
  return { status: 200, type: 'text/html; charset=utf-8', body: renderPage(document), headers };
}

function json(document: StatusDocument): Answer {
  const body = `${JSON.stringify(document, null, 2)}\n`;
  return { status: 200, type: 'application/json', body };
}

function metrics(counters: Counters): Answer {
  const type = 'text/plain; version=0.0.4; charset=utf-8';
  return { status: 200, type, body: renderCounters(counters) };
}

function text(status: number, line: string, headers: Answer['headers'] = {}): Answer {
  return { status, type: TEXT, body: `${line}\n`, headers };
}

// Who may read the status page. With a token: whoever sends it, as `Authorization: Bearer TOKEN` or, since browsers
// can ask for nothing else, as the password of Basic (RFC 7617, any user name). Without one, which the configuration
// allows on loopback only: whoever asks for this machine by name, since a web page elsewhere may have had its own
// name resolved to 127.0.0.1 (DNS rebinding) but cannot choose the Host header.

export type Access = 'granted' | 'token_needed' | 'foreign_host';

/** The challenges of a 401; browsers take the second. */
const CHALLENGES: readonly string[] = [
  'Bearer realm="prom2otlp"',
  'Basic realm="prom2otlp", charset="UTF-8"',
];

interface AccessRules {
  readonly token: Secret | null;
  /** The server listens on it. */
  readonly host: string;
}

export function checkAccess(headers: IncomingHttpHeaders, { token, host }: AccessRules): Access {
  if (token !== null) {
    const given = tokenOf(headers.authorization ?? '');
    return given !== null && isEqual(given, token.reveal()) ? 'granted' : 'token_needed';
  }
  if (!isLoopbackHost(host)) return 'granted';
  const asked = hostNameOf(headers.host ?? '');
  return isLoopbackHost(asked) || asked === host ? 'granted' : 'foreign_host';
}

function tokenOf(authorization: string): string | null {
  const [, scheme = '', value = ''] = /^(\S+) +(\S+) *$/.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return null;
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon < 0 ? null : pair.slice(colon + 1);
}

/** Takes the same time for a nearly right token as for a wrong one of any length. */
function isEqual(given: string, wanted: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/** The Host header without its port. */
function hostNameOf(hostHeader: string): string {
  return hostHeader.replace(/:\d*$/, '').toLowerCase();
}

// Beginning and end of a server of ours: a bad address is the operator's mistake and says what to do; the end waits
// for answers under way, but not for clients that will not go.

export const CLOSE_MS = 1000;

/** Listens, or throws an OperatorError with the cause. */
async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (error) {
    const advice = listenAdvice(error);
    const message = `cannot listen on ${shownHost(host)}:${port}: ${advice.cause}`;
    const { hint, isTransient } = advice;
    throw new OperatorError(
      [{ code: 'E_STATUS_LISTEN', key: 'status.listen', message, hint, isTransient }],
      { cause: error },
    );
  }
}

/** A host as a URL has it. */
function shownHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

interface ListenAdvice {
  readonly cause: string;
  readonly hint: string;
  /** Somebody else may let go of it. */
  readonly isTransient: boolean;
}

function listenAdvice(error: unknown): ListenAdvice {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return {
      cause: 'the port is in use',
      hint: 'end the other program (another prom2otlp?), or choose another port',
      isTransient: true,
    };
  const isTransient = false;
  if (code === 'EACCES')
    return { cause: 'permission denied', hint: 'choose a port from 1024 on', isTransient };
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return {
      cause: 'this machine has no such address',
      hint: 'use 127.0.0.1, or 0.0.0.0 for all addresses of the machine',
      isTransient,
    };
  return { cause: causeText(error), hint: 'choose another address or port', isTransient };
}

/** Ends idle connections at once, the others when their answers are out, all of them after CLOSE_MS. */
async function closeServer(server: Server, clock: Clock): Promise<void> {
  const timer = new AbortController();
  const closed = new Promise<void>(resolve => server.close(() => resolve()));
  await Promise.race([closed, clock.sleep(CLOSE_MS, timer.signal)]);
  timer.abort();
  server.closeAllConnections();
  await closed;
}
