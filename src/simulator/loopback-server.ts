// A node:http(s) server for the simulator and the receiver: starts on any free port, knows its URL, and closes
// at once, silent and half-sent answers included.

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { bug, causeText } from '../errors.ts';

export interface ListenOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** PEM texts; https where they are given. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface LoopbackServer {
  /** Without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Ends every connection, whatever it is doing. */
  close(): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Rejects when the port cannot be had. A handler that fails is answered for with 500 and the cause. */
export async function listen(options: ListenOptions, handler: Handler): Promise<LoopbackServer> {
  const listener: RequestListener = (request, response) => {
    handler(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { 'content-type': 'text/plain' }).end(causeText(error));
    });
  };
  const { host = '127.0.0.1', port = 0, tls } = options;
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = addressOf(server);
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${name}:${address.port}`,
    port: address.port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') return bug('a server without a port');
  return address;
}
