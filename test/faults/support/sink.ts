// A back end that notes every point it takes, and behaves as badly as a test asks for. Requests are decoded by the
// oracle of the tests, which shares nothing with the program.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { MetricsRequestJson } from '../../../src/pipeline/encode/otlp-shape.ts';
import { hasLeft } from '../../../src/simulator/request-body.ts';
import { oracleDecodeMetrics } from '../../reference/oracle.ts';
import { otlpPoints, type OtlpPoint } from '../../support/otlp-points.ts';

/**
 * What becomes of a request:
 * - `accept`: its points are taken, but for the first `rejected`, of which the answer tells; answered after `afterMs`.
 * - `accept-cut`: taken, and the connection is closed instead of an answer: an acknowledgement is lost.
 * - `refuse`: answered with a status, nothing is taken.
 * - `cut`: the connection is closed after so many bytes of the request; nothing is taken.
 * - `silent`: read, not taken, never answered.
 */
export type Behaviour =
  | { readonly kind: 'accept'; readonly rejected?: number; readonly afterMs?: number }
  | { readonly kind: 'accept-cut' | 'silent' }
  | { readonly kind: 'refuse'; readonly status: number; readonly retryAfter?: string }
  | { readonly kind: 'cut'; readonly bytes: number };

export interface SinkRequest {
  readonly atMs: number;
  readonly points: readonly OtlpPoint[];
  readonly isTaken: boolean;
}

/** Decides before the request is read, by its number from 0 on. */
type Chooser = (index: number) => Behaviour;
/** Decides by its points; null leaves it to the chooser. */
type Inspector = (points: readonly OtlpPoint[]) => Behaviour | null;

const ACCEPT: Behaviour = { kind: 'accept' };

export class Sink {
  /** Every request that was read to its end, in order. */
  readonly requests: SinkRequest[] = [];
  /** Told of each request that is taken. */
  onTaken: (points: readonly OtlpPoint[]) => void = () => undefined;
  choose: Chooser = () => ACCEPT;
  inspect: Inspector = () => null;
  /** Requests that were taken, and whose answer the sender has not had. */
  lostAnswers = 0;
  /** Requests by the status that they were answered with; 0 for none. */
  readonly statuses: Map<number, number> = new Map();
  readonly port: number;
  #count = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** On a free port, or on a given one. */
  static async start(port = 0): Promise<Sink> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const sink = new Sink(server);
    server.on('connection', socket => {
      sink.#sockets.add(socket);
      socket.on('close', () => sink.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('request', (request, response) => void sink.#handle(request, response));
    return sink;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const behaviour = this.choose(this.#count++);
    const body = await readBody(request, behaviour.kind === 'cut' ? behaviour.bytes : Infinity);
    if (body === null) return this.#note(0);
    const points = otlpPoints(decode(request, body));
    const verdict = this.inspect(points) ?? behaviour;
    const isTaken = verdict.kind === 'accept' || verdict.kind === 'accept-cut';
    const taken = isTaken
      ? points.slice(verdict.kind === 'accept' ? (verdict.rejected ?? 0) : 0)
      : [];
    this.requests.push({ atMs: Date.now(), points: taken, isTaken });
    if (isTaken) this.onTaken(taken);
    await this.#answer(request, response, verdict);
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    verdict: Behaviour,
  ): Promise<void> {
    if (verdict.kind === 'silent') return this.#note(0);
    if (verdict.kind === 'cut' || verdict.kind === 'accept-cut') {
      if (verdict.kind === 'accept-cut') this.lostAnswers++;
      request.socket.destroy();
      return this.#note(0);
    }
    if (verdict.kind === 'refuse') {
      if (verdict.retryAfter !== undefined) response.setHeader('retry-after', verdict.retryAfter);
      response
        .writeHead(verdict.status, { 'content-type': 'text/plain' })
        .end('as the test wants it');
      return this.#note(verdict.status);
    }
    const { afterMs = 0, rejected = 0 } = verdict.kind === 'accept' ? verdict : {};
    if (afterMs > 0) await new Promise(resolve => setTimeout(resolve, afterMs));
    if (await hasLeft(request)) {
      this.lostAnswers++;
      return this.#note(0);
    }
    const partial = { rejectedDataPoints: String(rejected), errorMessage: 'as the test wants it' };
    const answer = rejected > 0 ? { partialSuccess: partial } : {};
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    this.#note(200);
  }

  #note(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}

function decode(request: IncomingMessage, body: Buffer): MetricsRequestJson {
  const encoding = request.headers['content-encoding'];
  const unzstd = encoding === 'zstd' ? zstdDecompressSync(body) : body;
  const bytes = encoding === 'gzip' ? gunzipSync(body) : unzstd;
  const isJson = request.headers['content-type']?.includes('json') === true;
  return isJson ? (JSON.parse(bytes.toString()) as MetricsRequestJson) : oracleDecodeMetrics(bytes);
}

/** null when it did not come to its end, or was cut off. */
function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  return new Promise(resolve => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) request.socket.destroy();
    });
    request.on('end', () => resolve(bytes > maxBytes ? null : Buffer.concat(chunks)));
    request.on('close', () => resolve(null));
    request.on('error', () => resolve(null));
  });
}
