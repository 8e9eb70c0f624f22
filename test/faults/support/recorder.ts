// A back end that keeps every request as it came, to be judged when all is over: it costs little while it runs, so that
// what is measured is the program. It can hand each request on to a real back end, whose answer it gives.

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen, type LoopbackServer } from '../../../src/simulator/loopback-server.ts';
import { unpacked } from '../../support/back-end.ts';

export class Recorder {
  /** In the order in which they were accepted, as they came. */
  readonly accepted: { readonly body: Buffer; readonly encoding: string }[] = [];
  /** Requests that the real back end refused, in its words. */
  readonly refusals: string[] = [];
  readonly #forwardTo: string | undefined;
  #server!: LoopbackServer;

  private constructor(forwardTo: string | undefined) {
    this.#forwardTo = forwardTo;
  }

  /** `forwardTo`: the full URL at which a real back end takes metrics. */
  static async start(forwardTo?: string): Promise<Recorder> {
    const recorder = new Recorder(forwardTo);
    await recorder.#listen(0);
    return recorder;
  }

  get url(): string {
    return this.#server.url;
  }

  /** Nobody listens until what is returned is called. */
  async goDown(): Promise<() => Promise<void>> {
    await this[Symbol.asyncDispose]();
    return () => this.#listen(this.#server.port);
  }

  /** Ends when the requests under way have their answers, so that none of these is lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { server } = this.#server;
    server.close();
    server.closeIdleConnections();
    await once(server, 'close');
  }

  /** The requests, unpacked one after the other. */
  *requests(): Generator<Buffer> {
    for (const { body, encoding } of this.accepted) yield unpacked(encoding, body);
  }

  async #listen(port: number): Promise<void> {
    this.#server = await listen({ port }, (...exchange) => this.#take(...exchange));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Closing ends idle connections, and the others with their next answer.
    const { server } = this.#server;
    response.setHeader('connection', server.listening ? 'keep-alive' : 'close');
    const body = await buffer(request);
    const encoding = request.headers['content-encoding'] ?? 'identity';
    const status = this.#forwardTo === undefined ? 200 : await this.#forward(body, encoding);
    if (status < 300) this.accepted.push({ body, encoding });
    if (!server.listening) response.setHeader('connection', 'close');
    response.writeHead(status).end();
  }

  async #forward(body: Buffer, encoding: string): Promise<number> {
    const answer = await fetch(this.#forwardTo ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf', 'content-encoding': encoding },
      body: new Uint8Array(body),
    });
    const words = await answer.text();
    // A trial of zstd costs nobody anything: the same bytes come again in gzip.
    if (!answer.ok && encoding !== 'zstd') this.refusals.push(`${String(answer.status)} ${words}`);
    return answer.status;
  }
}
