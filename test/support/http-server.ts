// Small real servers on the loopback interface for tests: one that answers HTTP(S) with a handler and records
// the requests, and one that sends whatever bytes a test writes. Both close at the end of their scope:
// `await using server = await startHttpServer(…)`.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { listen, readBody } from '../../src/simulator/loopback-server.ts';
import { type TestCertificate, TEST_TLS } from './certificates.ts';

export interface RecordedRequest {
  readonly method: string;
  /** The path with the query. */
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

export async function startHttpServer(
  handler: Handler,
  options: { readonly isTls?: boolean; readonly tls?: TestCertificate } = {},
): Promise<HttpTestServer> {
  const requests: RecordedRequest[] = [];
  const { tls = TEST_TLS } = options;
  const isTls = options.isTls === true || options.tls !== undefined;
  const server = await listen(isTls ? { tls } : {}, async (incoming, response) => {
    // Many tests have a client that goes away in the middle of an answer.
    response.on('error', () => undefined);
    const body = await readBody(incoming, Infinity);
    if (body.kind !== 'whole') return;
    const { method = '', url = '', headers } = incoming;
    const request = { method, path: url, headers, body: body.bytes.toString() };
    requests.push(request);
    await handler(request, response);
  });
  const { url, port, close } = server;
  const origin = isTls ? `https://localhost:${port}` : url;
  return { origin, port, requests, [Symbol.asyncDispose]: close };
}

/** `onConnection` gets each socket; the client sees only the bytes that it writes. */
export async function startTcpServer(onConnection: (socket: Socket) => void): Promise<TestServer> {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
    onConnection(socket);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>(resolve => server.close(() => resolve()));
  };
  return { origin: `http://127.0.0.1:${port}`, port, [Symbol.asyncDispose]: close };
}

/** A port of this machine on which nobody listens. */
export async function findClosedPort(): Promise<number> {
  await using server = await startTcpServer(() => undefined);
  return server.port;
}
