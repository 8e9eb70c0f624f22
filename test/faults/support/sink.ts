// A back end that notes every point it takes, and behaves as badly as a test asks for. Requests are decoded by the
// oracle of the tests, which shares nothing with the program.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { MetricsRequestJson } from '../../../src/pipeline/encode/otlp-fields.ts';
import { listen, type LoopbackServer } from '../../../src/simulator/loopback-server.ts';
import { oracleDecodeMetrics } from '../../reference/oracle.ts';
import { unpacked } from '../../support/back-end.ts';
import { otlpPoints, type OtlpPoint } from '../../support/otlp-points.ts';
import { until } from '../../support/program.ts';
import { WireGate } from '../../support/wire-sanity.ts';
import { caughtUp } from './connections.ts';
import { LIFE_HEADER } from './bridge.ts';

/**
 * The treatment of a request:
 * - `accept`: its points are taken, except the first `rejected`, which the answer reports; answered after `afterMs`.
 * - `accept-cut`: taken, but the connection is closed instead of an answer: the acknowledgement is lost.
 * - `refuse`: answered with a status, nothing is taken.
 * - `cut`: the connection is closed after `bytes` bytes of the request; nothing is taken.
 * - `silent`: read, not taken, never answered.
 */
export type Behaviour =
  | { readonly kind: 'accept'; readonly rejected?: number; readonly afterMs?: number }
  | { readonly kind: 'accept-cut' | 'silent' }
  | { readonly kind: 'refuse'; readonly status: number; readonly retryAfter?: string }
  | { readonly kind: 'cut'; readonly bytes: number };

export interface SinkRequest {
  readonly points: readonly OtlpPoint[];
  readonly isTaken: boolean;
}

/** Decides before the request is read, by its number from 0 on and its headers. */
type Chooser = (index: number, headers: IncomingHttpHeaders) => Behaviour;
/** Decides by its points; null leaves it to the chooser. */
type Inspector = (points: readonly OtlpPoint[]) => Behaviour | null;

/**
 * A connection over which something was sent. A sender opens a new connection only when it has given up the one before.
 * If the last request on the old connection was taken, the sender has not got its answer.
 */
interface Link {
  /** The number of the process at the other end, from its header. */
  life: string;
  isLastTaken: boolean;
  /** The number of the last request on it that was taken; -1 before the first. */
  lastTaken: number;
}

const newLink = (): Link => ({ life: '', isLastTaken: false, lastTaken: -1 });

const ACCEPT: Behaviour = { kind: 'accept' };

export class Sink {
  /** Every request that was read to its end, in order. */
  readonly requests: SinkRequest[] = [];
  /** Called with the points of each request that is taken. */
  onTaken: (points: readonly OtlpPoint[]) => void = () => undefined;
  choose: Chooser = () => ACCEPT;
  inspect: Inspector = () => null;
  /** Checks every request that is taken; close() throws if something was wrong. */
  readonly gate: WireGate;
  #count = 0;
  #handling = 0;
  #lostAtEnds = 0;
  #server!: LoopbackServer;
  /** In the order in which they were opened. */
  readonly #links = new Map<Socket, Link>();

  private constructor(gate: WireGate) {
    this.gate = gate;
  }

  static async start(gate: WireGate): Promise<Sink> {
    const sink = new Sink(gate);
    await sink.#listen(0);
    return sink;
  }

  get port(): number {
    return this.#server.port;
  }

  get url(): string {
    return this.#server.url;
  }

  /** The number of taken requests whose answer the sender has not got: each may cost one request that comes twice. */
  get lostAnswers(): number {
    return this.#lostAtEnds + [...this.#links.values()].filter(link => this.#isLost(link)).length;
  }

  /** Notes that a process has ended before it could store the answer to its last taken request. */
  noteUnsettled(life: number): void {
    const links = [...this.#links.values()].filter(link => link.life === String(life));
    const [last] = links.sort((a, b) => b.lastTaken - a.lastTaken);
    if (last !== undefined && !this.#isLost(last)) this.#lostAtEnds++;
  }

  /** True if the sender has left the connection without the answer to its last request. */
  #isLost(link: Link): boolean {
    const links = [...this.#links.values()].filter(({ life }) => life === link.life);
    return link.isLastTaken && links.at(-1) !== link;
  }

  /** Waits until all requests of ended processes have been handled. */
  async caughtUp(): Promise<void> {
    await caughtUp(this.#server);
    await until('all requests are looked at', () => this.#handling === 0);
  }

  /** Stops listening. Throws if a request was not sane. */
  async close(): Promise<void> {
    await this.#server.close();
    this.gate.expectSane();
  }

  /** Listens again, on the same port. */
  async reopen(): Promise<void> {
    await this.#listen(this.port);
  }

  async #listen(port: number): Promise<void> {
    this.#server = await listen({ port }, (...exchange) => this.#handle(...exchange));
    const { server } = this.#server;
    // Only the sender closes idle connections, so that a new connection means that it gave up the old one.
    server.keepAliveTimeout = 0;
    server.on('connection', (socket: Socket) => this.#links.set(socket, newLink()));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#handling++;
    response.on('error', () => undefined);
    const link = this.#links.get(request.socket) ?? newLink();
    link.life = String(request.headers[LIFE_HEADER]);
    link.isLastTaken = false;
    const behaviour = this.choose(this.#count++, request.headers);
    const body = await readBody(request, behaviour.kind === 'cut' ? behaviour.bytes : Infinity);
    if (body !== null) {
      const decoded = decode(request, body);
      const points = otlpPoints(decoded);
      const verdict = this.inspect(points) ?? behaviour;
      if (verdict.kind === 'accept' || verdict.kind === 'accept-cut') this.gate.take(decoded);
      link.isLastTaken = this.#take(points, verdict);
      if (link.isLastTaken) link.lastTaken = this.requests.length - 1;
      await answer(request, response, verdict);
    }
    this.#handling--;
  }

  #take(points: readonly OtlpPoint[], verdict: Behaviour): boolean {
    const isTaken = verdict.kind === 'accept' || verdict.kind === 'accept-cut';
    const rejected = verdict.kind === 'accept' ? (verdict.rejected ?? 0) : 0;
    const taken = isTaken ? points.slice(rejected) : [];
    this.requests.push({ points: taken, isTaken });
    if (isTaken) this.onTaken(taken);
    return isTaken;
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  verdict: Behaviour,
): Promise<void> {
  if (verdict.kind === 'silent') return;
  if (verdict.kind !== 'accept' && verdict.kind !== 'refuse') {
    request.socket.destroy();
    return;
  }
  if (verdict.kind === 'refuse') {
    if (verdict.retryAfter !== undefined) response.setHeader('retry-after', verdict.retryAfter);
    response.writeHead(verdict.status, { 'content-type': 'text/plain' }).end(WORDS);
    return;
  }
  const { afterMs = 0, rejected = 0 } = verdict;
  if (afterMs > 0) await new Promise(resolve => setTimeout(resolve, afterMs));
  const partial = { rejectedDataPoints: String(rejected), errorMessage: WORDS };
  const body = rejected > 0 ? { partialSuccess: partial } : {};
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const WORDS = 'as the test wants it';

function decode(request: IncomingMessage, body: Buffer): MetricsRequestJson {
  const bytes = unpacked(request.headers['content-encoding'], body);
  const isJson = request.headers['content-type']?.includes('json') === true;
  return isJson ? (JSON.parse(bytes.toString()) as MetricsRequestJson) : oracleDecodeMetrics(bytes);
}

/** The body of a request; null when it was incomplete, or cut off after `maxBytes`. */
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
