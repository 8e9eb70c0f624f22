// Small real servers on the loopback interface for tests: one that speaks HTTP(S) by a handler and records
// what it was asked, and one that speaks whatever bytes a test writes. Both end at the end of their scope:
// `await using server = await startHttpServer(…)`.

import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';

export interface RecordedRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface TestServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, or `https://localhost:PORT`, the name in the test certificate. */
  readonly origin: string;
  readonly port: number;
}

export interface HttpTestServer extends TestServer {
  /** Every request in order, complete with its body before the handler is called. */
  readonly requests: RecordedRequest[];
}

export type Handler = (request: RecordedRequest, response: ServerResponse) => void | Promise<void>;

/** PEM texts: the authority for clients, certificate and key for servers on `localhost`. */
export const TEST_TLS: { readonly ca: string; readonly cert: string; readonly key: string } = {
  ca: readPem('ca.pem'),
  cert: readPem('localhost.pem'),
  key: readPem('localhost.key'),
};

export async function startHttpServer(
  handler: Handler,
  options: { readonly isTls?: boolean } = {},
): Promise<HttpTestServer> {
  const requests: RecordedRequest[] = [];
  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      const request = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
      requests.push(request);
      void handler(request, response);
    });
    // A client that goes away in the middle is what many of these tests are about.
    response.on('error', () => undefined);
  };
  const isTls = options.isTls === true;
  const server = isTls
    ? createTlsServer({ cert: TEST_TLS.cert, key: TEST_TLS.key }, listener)
    : createServer(listener);
  return { ...(await listen(server, isTls ? 'https://localhost' : 'http://127.0.0.1')), requests };
}

/** `onConnection` gets each socket; what it writes is all that the client sees. */
export function startTcpServer(onConnection: (socket: Socket) => void): Promise<TestServer> {
  return listen(createTcpServer(onConnection), 'http://127.0.0.1');
}

/** A port of this machine on which nobody listens. */
export async function findClosedPort(): Promise<number> {
  await using server = await startTcpServer(() => undefined);
  return server.port;
}

async function listen(server: Server, schemeAndHost: string): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>(resolve => server.close(() => resolve()));
  };
  return { origin: `${schemeAndHost}:${port}`, port, [Symbol.asyncDispose]: close };
}

function readPem(name: string): string {
  return readFileSync(new URL(`tls/${name}`, import.meta.url), 'utf8');
}
