// Connections to one origin: of an API, or of a back end. A connection to an API binds the API's key to that origin:
// settings that would send the key in plain text, or with which no request is possible, are refused here, even if the
// configuration has checked them before.

import type { Socket, TcpNetConnectOpts } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { ApiConfig, Secret } from '../config/config.ts';
import { OperatorError } from '../errors.ts';
import { isLoopbackHost } from '../lib/loopback.ts';
import { validateHeaderName, validateHeaderValue } from '../lib/node-http.ts';
import { findBadCertificate } from '../lib/pem.ts';
import { contextFor } from './trust.ts';

export interface Link {
  readonly origin: string;
  /** Its chunks may be overwritten once their handler has returned. */
  readonly dispatcher: Dispatcher;
  /** True while a new connection begins its first request; undici does so in the same turn. */
  readonly isOpening: () => boolean;
  /** True if there is a proxy: then it is the proxy that refuses connections. */
  readonly isProxied: boolean;
}

export interface Connection extends Link {
  /** Origin and base path, without a trailing slash. */
  readonly baseUrl: string;
  /** True when the origin is this machine. */
  readonly isLocal: boolean;
  /** True when a redirect within the origin may be followed: https, or this machine. */
  readonly isRedirectSafe: boolean;
}

/** Names that the client sets itself, or that undici refuses. */
const RESERVED_HEADERS =
  /^(?:x-api-key|accept|accept-encoding|connection|content-(?:encoding|length|type)|expect|host|keep-alive|proxy-authorization|te|trailer|transfer-encoding|upgrade)$/i;

/** The most concurrent requests of one API; others wait within their timeouts. */
const CONNECTIONS_MAX = 8;

// Longer than the usual interval of a minute, so that a scrape or a tick finds its connection open. If the other side
// closes the connection while a request is being sent, the exchange reports `isStale`: it may be sent once more.
const KEEP_ALIVE_MS = 120_000;

/** Gateways add cookies and traces to the head of an answer; undici accepts 16 KiB by default. */
const HEAD_BYTES_MAX = 64 * 1024;

/** Checks the settings, and opens no connection yet. Throws an OperatorError without secrets. */
export function createConnection(api: ApiConfig): Connection {
  const base = parseBaseUrl(api);
  checkHeaders(api.headers);
  checkCertificate(api.ca);
  const isLocal = isLoopbackHost(base.hostname);
  return {
    ...openLink(base.origin, {
      connections: CONNECTIONS_MAX,
      timeoutMs: api.timeoutMs,
      secureContext: () => contextFor({ ca: api.ca }),
      proxy: api.proxy,
    }),
    baseUrl: `${base.origin}${base.pathname}`.replace(/\/+$/, ''),
    isLocal,
    isRedirectSafe: base.protocol === 'https:' || isLocal,
  };
}

function parseBaseUrl(api: ApiConfig): URL {
  const base = parseUrl(api.baseUrl, 'base_url', 'https://api.example.com');
  if (base.search !== '' || base.hash !== '')
    refuse(
      'base_url',
      'cannot use api.base_url: it has a query',
      'remove everything after the path',
    );
  if (base.protocol === 'https:') return base;
  if (!isLoopbackHost(base.hostname) && !api.isInsecureAllowed)
    refuse(
      'base_url',
      `cannot use ${base.origin}: the key would travel in plain text`,
      'use https, or set api.insecure: true',
    );
  if (api.proxy !== null)
    refuse(
      'proxy',
      `cannot reach ${base.origin} through a proxy: the proxy would see the key`,
      'use https, leave out api.proxy, or name the host in the variable NO_PROXY',
    );
  return base;
}

function parseProxy(proxy: Secret): URL {
  return parseUrl(proxy.reveal(), 'proxy', 'http://proxy.example.com:3128', true);
}

function parseUrl(text: string, key: string, example: string, isUserAllowed = false): URL {
  const url = URL.parse(text);
  const hint = `write it as ${example}`;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return refuse(key, `cannot use api.${key}: it is not an http or https URL`, hint);
  if (!isUserAllowed && (url.username !== '' || url.password !== ''))
    return refuse(key, `cannot use api.${key}: it has a user or a password in it`, hint);
  return url;
}

function checkHeaders(headers: Readonly<Record<string, Secret>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (RESERVED_HEADERS.test(name))
      refuse(
        'headers',
        `cannot send the header "${name}": the client sets it itself`,
        'leave it out',
      );
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value.reveal());
    } catch {
      const message = `cannot send the header ${JSON.stringify(name)}: a character is not allowed`;
      refuse('headers', message, 'look for line breaks and letters beyond Latin-1');
    }
  }
}

function checkCertificate(ca: string | null): void {
  const cause = ca === null ? null : findBadCertificate(ca);
  if (cause !== null) refuse('ca', `cannot use api.ca: ${cause}`, 'check the PEM file');
}

type Connect = buildConnector.connector;

interface LinkOptions {
  readonly connections: number;
  /** For a connection, its handshake included. */
  readonly timeoutMs: number;
  /** Called only for a connection with TLS. */
  readonly secureContext: () => SecureContext;
  readonly proxy: Secret | null;
}

/** Opens no connection yet. */
export function openLink(origin: string, options: LinkOptions): Link {
  const opening = { isNow: false };
  const dispatcher = createDispatcher(origin, options, opening);
  return { origin, dispatcher, isOpening: () => opening.isNow, isProxied: options.proxy !== null };
}

function createDispatcher(
  origin: string,
  { connections, timeoutMs, secureContext, proxy }: LinkOptions,
  opening: { isNow: boolean },
): Dispatcher {
  const options = {
    connections,
    connectTimeout: timeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEAD_BYTES_MAX,
    // HTTP/2 would need a second implementation and flow control for one request a minute.
    allowH2: false,
  };
  const watched = (connect: Connect): Connect => watchConnect(connect, opening);
  const family = familyOptions(timeoutMs);
  if (proxy === null) {
    const connect = origin.startsWith('http:')
      ? createPlainConnector(timeoutMs)
      : buildConnector({
          ...family,
          secureContext: secureContext(),
          timeout: timeoutMs,
          allowH2: false,
        });
    return new Pool(origin, { ...options, connect: watched(connect) });
  }
  const uri = parseProxy(proxy).href;
  const isEncrypted = origin.startsWith('https:') || uri.startsWith('https:');
  const tls = { ...family, ...(isEncrypted ? { secureContext: secureContext() } : {}) };
  return new ProxyAgent({
    ...options,
    uri,
    requestTls: { ...tls, allowH2: false },
    proxyTls: tls,
    // Without it a CONNECT that the proxy does not answer would take one of the connections for five minutes.
    clientFactory: (to, given) => new Pool(to, { ...given, headersTimeout: timeoutMs }),
    factory: (to, given: { readonly connect: Connect }) =>
      new Pool(to, { ...given, connect: watched(given.connect) }),
  });
}

/**
 * A host may have several addresses, of both families. Node tries one after the other, each but the last for 250 ms, which
 * is too short for a slow network. Half of the time leaves the other half for the next address.
 */
function familyOptions(
  timeoutMs: number,
): Pick<TcpNetConnectOpts, 'autoSelectFamilyAttemptTimeout'> {
  return { autoSelectFamilyAttemptTimeout: Math.max(10, Math.floor(timeoutMs / 2)) };
}

function watchConnect(connect: Connect, opening: { isNow: boolean }): Connect {
  return (options, callback) =>
    connect(options, (...result) => {
      const [error, socket] = result;
      if (error === null) skipInterimAnswers(socket);
      // undici takes a reset for the end of an answer without a length, although the answer may be cut.
      socket?.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNRESET') error.code = 'ECONNABORTED';
      });
      opening.isNow = true;
      callback(...result);
      opening.isNow = false;
    });
}

function refuse(key: string, message: string, hint: string): never {
  const mistake = { message, hint, key: `api.${key}` } as const;
  throw new OperatorError([mistake]);
}

// Reads from a socket into the same buffer again and again. By default Node allocates a buffer of 64 KiB for each read:
// 350 for a page of 23 MB. V8 counts them as growth of its heap, and makes full collections for them.
//
//   kernel ──▶ buffer ──▶ undici's parser ──▶ exchange.ts, which copies the body
//                ▲                     │
//                └──── next read ◀─────┘ once undici has consumed everything
//
// A buffer is never reused while undici still holds it: if undici is paused and keeps bytes, the next read gets a new
// buffer; the beginning of an answer is copied, because undici keeps the pieces of a head until the head is complete.

/** Every connection keeps a buffer of this size. */
const READ_BYTES = 64 * 1024;
/** After this many full reads in a row (a page of more than 2 MiB), a connection gets a larger buffer. */
const FULL_READS = 32;
const LARGE_READ_BYTES = 256 * 1024;
/** Shorter reads are copied, too: they may end in the middle of trailers, which undici keeps as it keeps a head. */
const SHORT_BYTES = 32 * 1024;

/** Connects without TLS; received bytes are valid until the handler of the dispatch returns. */
function createPlainConnector(timeoutMs: number): Connect {
  return (options, callback) => {
    let socket: Socket | null = null;
    let next: Buffer | null = null;
    let size = READ_BYTES;
    let fullReads = 0;
    /** Of the answer, counted from the last write. */
    let answerBytes = 0;
    /** Passes a read to undici at once; false makes Node pause. */
    const take = (bytes: number, buffer: Buffer): boolean => {
      next = buffer;
      fullReads = bytes < buffer.length ? 0 : fullReads + 1;
      if (fullReads === FULL_READS) size = LARGE_READ_BYTES;
      if (buffer.length < size) next = null;
      if (socket === null || socket.destroyed) return false;
      const read = buffer.subarray(0, bytes);
      const isHead = answerBytes < HEAD_BYTES_MAX;
      answerBytes += bytes;
      if (isHead || bytes < SHORT_BYTES) return socket.push(Buffer.from(read));
      const isMoreWanted = socket.push(read);
      // Emitted here, because Node would emit it later, when the buffer may already be reused.
      socket.emit('readable');
      if (socket.readableLength === 0) return true;
      next = null;
      return isMoreWanted;
    };
    // Node requests a buffer at first and after every read.
    const onread = {
      buffer: (): Buffer => next ?? Buffer.allocUnsafeSlow(size),
      callback: (bytes: number, buffer: Uint8Array): boolean => take(bytes, buffer as Buffer),
    };
    const family = familyOptions(timeoutMs);
    const connect = buildConnector({ ...family, timeout: timeoutMs, allowH2: false, onread });
    connect(options, (...result) => {
      socket = result[1];
      if (result[0] === null) onWrite(result[1], () => (answerBytes = 0));
      callback(...result);
    });
  };
}

// Removes interim answers (1xx) from what a connection reads. Some gateways send a `100 Continue` that nobody asked for, and
// undici takes it for a broken answer.

/** Of `HTTP/1.1 100`. */
const STATUS_LENGTH = 12;
const END = '\r\n\r\n';
/** A longer one is left to undici, which refuses it. */
const LENGTH_MAX = 4096;

/** Must be called before the first request. */
function skipInterimAnswers(socket: Socket): void {
  const read = socket.read.bind(socket);
  /** True from a request until the first byte of its final answer. */
  let isAtStart = true;
  let kept: Buffer = Buffer.alloc(0);
  onWrite(socket, () => (isAtStart = true));
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size) as Buffer | null;
      if (chunk === null || !isAtStart) return chunk;
      kept = withoutInterim(kept.length === 0 ? chunk : Buffer.concat([kept, chunk]));
      if (mayBeInterim(kept)) {
        // The next chunk shows what it is; it may overwrite this one.
        kept = Buffer.from(kept);
        continue;
      }
      const rest = kept;
      kept = Buffer.alloc(0);
      isAtStart = false;
      return rest;
    }
  };
}

/** Calls `run` before each write to the socket: a request begins, or goes on. */
function onWrite(socket: Socket, run: () => void): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  socket.write = (...args: unknown[]): boolean => {
    run();
    return write(...args);
  };
}

function withoutInterim(bytes: Buffer): Buffer {
  let rest = bytes;
  while (isInterim(rest)) {
    const end = rest.indexOf(END);
    if (end === -1) break;
    rest = rest.subarray(end + END.length);
  }
  return rest;
}

/** A 101 is no interim answer: nobody asked to change the protocol. */
function isInterim(bytes: Buffer): boolean {
  return /^HTTP\/1\.[01] 1(?!01)\d\d/.test(bytes.toString('latin1', 0, STATUS_LENGTH));
}

/** True if more bytes must come to tell, or to end it. */
function mayBeInterim(bytes: Buffer): boolean {
  if (bytes.length >= STATUS_LENGTH) return isInterim(bytes) && bytes.length <= LENGTH_MAX;
  return 'HTTP/1.1 1'.startsWith(bytes.toString('latin1', 0, 10).replace('/1.0', '/1.1'));
}
