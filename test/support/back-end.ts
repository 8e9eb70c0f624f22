// A loopback back end for OTLP over HTTP that answers as a test tells it and keeps what it was sent.

import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As it came, compressed. */
  readonly body: Buffer;
  readonly raw: Buffer;
  /** True when the client showed a certificate. */
  readonly isCertified: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** What comes of a request: an answer, or whatever a function does to the response. */
export type Answerer = (
  request: ReceivedRequest,
  index: number,
) => Answer | ((response: ServerResponse) => void);

export class BackEnd {
  readonly requests: ReceivedRequest[] = [];
  /** Changed at will by a test. */
  answer: Answerer;
  connectionCount = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, answer: Answerer) {
    this.#server = server;
    this.answer = answer;
    server.on('connection', socket => {
      this.connectionCount++;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
  }

  static async start(
    answer: Answerer = () => ({ status: 200 }),
    tls?: ServerOptions,
    port = 0,
  ): Promise<BackEnd> {
    const server = tls === undefined ? createServer() : createTlsServer(tls);
    const backEnd = new BackEnd(server, answer);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => undefined);
      request.on('end', () => void backEnd.#take(request, response, Buffer.concat(chunks)));
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return backEnd;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  /** From now on answers at the head of a request and closes, whatever else is still coming. */
  refuseEarly(status: number): void {
    this.#server.removeAllListeners('request');
    this.#server.on('request', (request, response) => {
      request.on('error', () => undefined);
      response.writeHead(status, { connection: 'close' });
      response.end(() => request.socket.destroy());
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    // A request that was read only after its sender had gone counts as never received.
    if (await hasLeft(request)) return void response.destroy();
    const { method = '', url: path = '', headers } = request;
    const raw = inflate(headers, body);
    const received = { method, path, headers, body, raw, isCertified: isCertified(request) };
    this.requests.push(received);
    this.#reply(response, this.answer(received, this.requests.length - 1));
  }

  #reply(response: ServerResponse, answer: ReturnType<Answerer>): void {
    if (typeof answer === 'function') {
      answer(response);
      return;
    }
    response.writeHead(answer.status, { ...answer.headers });
    response.end(answer.body);
  }
}

/** True when the client has gone. A client that left while the loop was busy is seen only when the loop has polled. */
async function hasLeft({ socket }: IncomingMessage): Promise<boolean> {
  for (let turn = 0; turn < 2; turn++) await nextTurn();
  return socket.destroyed || socket.readableEnded || !socket.writable;
}

function isCertified({ socket }: IncomingMessage): boolean {
  return socket instanceof TLSSocket && Object.keys(socket.getPeerCertificate()).length > 0;
}

function inflate(headers: IncomingHttpHeaders, body: Buffer): Buffer {
  if (headers['content-encoding'] === 'gzip') return gunzipSync(body);
  if (headers['content-encoding'] === 'zstd') return zstdDecompressSync(body);
  return body;
}
