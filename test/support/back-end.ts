// A loopback back end for OTLP over HTTP that answers as a test tells it and keeps the requests.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { ServerOptions } from 'node:https';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { listen, type LoopbackServer, readBody } from '../../src/simulator/loopback-server.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As it came, compressed. */
  readonly body: Buffer;
  readonly raw: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Decides the answer to a request, or returns a function that writes the response itself. */
export type Answerer = (
  request: ReceivedRequest,
  index: number,
) => Answer | ((response: ServerResponse) => void);

export class BackEnd {
  readonly requests: ReceivedRequest[] = [];
  /** A test may change this at any time. */
  answer: Answerer;
  connectionCount = 0;
  #server!: LoopbackServer;
  /** The status with which a request is refused before its body; null for none. */
  #refusal: number | null = null;

  private constructor(answer: Answerer) {
    this.answer = answer;
  }

  static async start(
    answer: Answerer = () => ({ status: 200 }),
    tls?: ServerOptions,
    port = 0,
  ): Promise<BackEnd> {
    const backEnd = new BackEnd(answer);
    const options = tls === undefined ? { port } : { port, tls };
    backEnd.#server = await listen(options, (...exchange) => backEnd.#take(...exchange));
    backEnd.#server.server.on('connection', () => backEnd.connectionCount++);
    return backEnd;
  }

  get port(): number {
    return this.#server.port;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  /** From now on, answers a request after its headers and closes the connection, without reading the body. */
  refuseEarly(status: number): void {
    this.#refusal = status;
  }

  async stop(): Promise<void> {
    await this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', () => undefined);
    if (this.#refusal !== null) {
      response.writeHead(this.#refusal, { connection: 'close' });
      return void response.end(() => request.socket.destroy());
    }
    const read = await readBody(request, Infinity);
    // A request that was read only after its sender had gone counts as never received.
    if (read.kind !== 'whole' || (await hasLeft(request))) return void response.destroy();
    const { method = '', url: path = '', headers } = request;
    const { bytes: body } = read;
    const raw = unpacked(headers['content-encoding'], body);
    const received = { method, path, headers, body, raw };
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

export function unpacked(encoding: string | undefined, body: Buffer): Buffer {
  if (encoding === 'gzip') return gunzipSync(body);
  return encoding === 'zstd' ? zstdDecompressSync(body) : body;
}
