// A back end that keeps every request as it came, to be checked at the end: it costs little while it runs, so that a test
// measures the program. It can forward the requests to real back ends; the first that refuses gives the answer.

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen, type LoopbackServer } from '../../src/simulator/loopback-server.ts';
import { unpacked } from './back-end.ts';

export interface Recorded {
  readonly body: Buffer;
  /** The Content-Encoding; `none` if the request has none. */
  readonly encoding: string;
  readonly status: number;
  /** The body of the real back end's answer. */
  readonly words: string;
}

export class Recorder implements AsyncDisposable {
  /** In the order in which they were answered. */
  readonly requests: Recorded[] = [];
  readonly #urls: readonly string[];
  #server!: LoopbackServer;

  private constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  /** `urls`: the full URLs at which real back ends take metrics. */
  static async start(urls: readonly string[] = []): Promise<Recorder> {
    const recorder = new Recorder(urls);
    await recorder.#listen(0);
    return recorder;
  }

  get url(): string {
    return `${this.#server.url}/v1/metrics`;
  }

  get accepted(): readonly Recorded[] {
    return this.requests.filter(({ status }) => status < 300);
  }

  /** The accepted requests, unpacked one after the other. */
  *unpacked(): Generator<Buffer> {
    for (const { body, encoding } of this.accepted) yield unpacked(encoding, body);
  }

  /** Stops listening, until the returned function is called. */
  async goDown(): Promise<() => Promise<void>> {
    await this.stop();
    return () => this.#listen(this.#server.port);
  }

  /** Stops after the requests under way have their answers, so that no answer is lost. */
  async stop(): Promise<void> {
    const { server } = this.#server;
    if (!server.listening) return;
    server.close();
    server.closeIdleConnections();
    await once(server, 'close');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #listen(port: number): Promise<void> {
    this.#server = await listen({ port }, (...exchange) => this.#take(...exchange));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Closing ends idle connections, and the others with their next answer.
    const { server } = this.#server;
    response.setHeader('connection', server.listening ? 'keep-alive' : 'close');
    const body = await buffer(request);
    const { 'content-encoding': encoding, 'content-type': type = '' } = request.headers;
    const { status, words } = await this.#forward(body, {
      'content-type': type,
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    });
    this.requests.push({ body, encoding: encoding ?? 'none', status, words });
    if (!server.listening) response.setHeader('connection', 'close');
    response.writeHead(status, { 'content-type': 'text/plain' }).end(status < 300 ? '' : words);
  }

  async #forward(
    body: Buffer,
    headers: Record<string, string>,
  ): Promise<{ status: number; words: string }> {
    for (const url of this.#urls) {
      const answer = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
      const words = await answer.text();
      if (!answer.ok) return { status: answer.status, words };
    }
    return { status: 200, words: '' };
  }
}
