// A node:http(s) server for the simulator and the receiver: starts on any free port, knows its URL, reads bodies up to a
// limit, counts its requests, and closes at once, even with silent and half-sent answers.

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { causeText } from '../errors.ts';

export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** PEM texts and the like; with them the server uses https. */
  readonly tls?: ServerOptions;
}

export interface LoopbackServer extends AsyncDisposable {
  /** Without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
  /** Closes every connection, even in use. */
  readonly close: () => Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

/** Rejects if the port is not available. A failing handler becomes a 500 with the cause. */
export async function listen(options: ListenOptions, handler: Handler): Promise<LoopbackServer> {
  const answer = async (...exchange: Parameters<Handler>): Promise<void> => handler(...exchange);
  const listener: RequestListener = (request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'content-type': 'text/plain' }).end(causeText(error));
    });
  };
  const { host = '127.0.0.1', port = 0, tls } = options;
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>(resolve => server.close(() => resolve()));
  };
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${name}:${address.port}`,
    port: address.port,
    server,
    sockets,
    close,
    [Symbol.asyncDispose]: close,
  };
}

// Bodies of requests. Never throws: a body that is too long or broken is a value.

export type RequestBody =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'too-long' }
  | { readonly kind: 'broken' };

export async function readBody(request: IncomingMessage, maxBytes: number): Promise<RequestBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      // The rest is read and dropped, or the client would not see the answer.
      if (bytes <= maxBytes) chunks.push(chunk);
    }
  } catch {
    return { kind: 'broken' };
  }
  return bytes > maxBytes ? { kind: 'too-long' } : { kind: 'whole', bytes: Buffer.concat(chunks) };
}

/** How many requests there were, in all and by path. */
export class RequestRecord {
  readonly countByPath: Map<string, number> = new Map();
  count = 0;

  add(url: string): void {
    this.count++;
    const path = url.replace(/\?.*$/u, '');
    this.countByPath.set(path, (this.countByPath.get(path) ?? 0) + 1);
  }
}
