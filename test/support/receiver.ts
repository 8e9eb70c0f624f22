// The back end of all tests that look at received data: keeps every point and log record that it accepted, and checks
// each metrics request with wire-sanity.ts. Closing it throws when a request was not sane.

import type { LogRecordJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { oracleDecodeLogs, oracleDecodeMetrics } from '../reference/oracle.ts';
import { BackEnd, type ReceivedRequest } from './back-end.ts';
import { otlpLogs, type OtlpPoint, otlpPoints } from './otlp-points.ts';
import { WireGate } from './wire-sanity.ts';

/**
 * The status of the answer. `silent`: neither accepted nor answered. `cut`: accepted, but the connection breaks within
 * the answer, so the sender cannot know.
 */
export type Behaviour = number | 'silent' | 'cut';

export class Receiver {
  /** The points of accepted requests, oldest first. */
  readonly points: OtlpPoint[] = [];
  readonly logRecords: LogRecordJson[] = [];
  readonly logBodies: Buffer[] = [];
  /** Decides how the next request is answered. */
  behave: (request: ReceivedRequest) => Behaviour = () => 200;
  /** An answer may be lost, as when a process is killed: points may come again unchanged. */
  readonly gate: WireGate = new WireGate({ mayResend: true });
  readonly #backEnd: BackEnd;

  private constructor(backEnd: BackEnd) {
    this.#backEnd = backEnd;
  }

  static async start(port = 0): Promise<Receiver> {
    const receiver: Receiver = new Receiver(
      await BackEnd.start(request => receiver.#answer(request), undefined, port),
    );
    return receiver;
  }

  /** The OTLP endpoint. */
  get url(): string {
    return this.#backEnd.url;
  }

  get port(): number {
    return this.#backEnd.port;
  }

  /** The number of all requests, accepted or not. */
  get requestCount(): number {
    return this.#backEnd.requests.length;
  }

  get counters(): readonly OtlpPoint[] {
    return this.points.filter(({ type, isMonotonic }) => type === 'sum' && isMonotonic);
  }

  async close(): Promise<void> {
    await this.#backEnd.stop();
    this.gate.expectSane();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #answer(request: ReceivedRequest): ReturnType<BackEnd['answer']> {
    const { path, raw } = request;
    const behaviour = this.behave(request);
    if (behaviour === 'silent') return () => undefined;
    if (typeof behaviour === 'number' && behaviour !== 200) return { status: behaviour };
    if (path === '/v1/logs') this.#takeLogs(raw);
    else this.#takeMetrics(raw);
    if (behaviour === 200) return { status: 200 };
    return response => {
      response.writeHead(200, { 'content-length': 2 });
      response.write('{', () => response.destroy());
    };
  }

  #takeMetrics(body: Buffer): void {
    const decoded = oracleDecodeMetrics(body);
    this.gate.take(decoded);
    this.points.push(...otlpPoints(decoded));
  }

  #takeLogs(body: Buffer): void {
    this.logBodies.push(body);
    this.logRecords.push(...otlpLogs(oracleDecodeLogs(body)).map(({ record }) => record));
  }
}
