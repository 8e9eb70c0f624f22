// The back end of a bench, in a process of its own: takes OTLP over HTTP and remote write, unpacks and reads every
// request, and keeps which samples have arrived.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { uncompress } from 'snappyjs';
import { listen, readBody } from '../src/simulator/loopback-server.ts';
import type { SeriesSet } from './corpus/series-set.ts';
import { readOtlpJson, readOtlpProtobuf, readRemoteWrite } from './sink/read.ts';
import { Received } from './sink/received.ts';

export interface SinkCounts {
  readonly samples: number;
  readonly bodyBytes: number;
  /** When the first and the last request with samples of the pages were read, by the wall clock; 0 before. */
  readonly firstSampleAtMs: number;
  readonly lastSampleAtMs: number;
  /** Requests that could not be read. */
  readonly failures: readonly string[];
}

const REQUEST_BYTES_MAX = 1024 * 1024 * 1024;
const FAILURES_MAX = 10;

class Sink {
  readonly received: Received;
  /** Whether requests are taken; otherwise the answer is 503. */
  isOpen = true;
  #bodyBytes = 0;
  #firstSampleAtMs = 0;
  #lastSampleAtMs = 0;
  readonly #failures: string[] = [];

  constructor(isTimed: boolean) {
    this.received = new Received(isTimed);
  }

  async listen(): Promise<string> {
    const { server, url } = await listen({}, (...exchange) => this.#take(...exchange));
    server.keepAliveTimeout = 120_000;
    return url;
  }

  counts(): SinkCounts {
    return {
      samples: this.received.samples,
      bodyBytes: this.#bodyBytes,
      firstSampleAtMs: this.#firstSampleAtMs,
      lastSampleAtMs: this.#lastSampleAtMs,
      failures: this.#failures,
    };
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request, REQUEST_BYTES_MAX);
    // The client gave the request up. If it does not send it again, samples are missing.
    if (body.kind !== 'whole') return;
    if (!this.isOpen) {
      response.writeHead(503, { 'content-length': 0 }).end();
      return;
    }
    try {
      this.#read(request, body.bytes);
      const type = request.headers['content-type'] ?? '';
      if (type.includes('json')) response.writeHead(200, { 'content-type': type }).end('{}');
      else response.writeHead(200, { 'content-length': 0, 'content-type': type }).end();
    } catch (error) {
      if (this.#failures.length < FAILURES_MAX) this.#failures.push(String(error));
      response.writeHead(400, { 'content-length': 0 }).end();
    }
  }

  #read(request: IncomingMessage, body: Buffer): void {
    const { url = '', headers } = request;
    const samplesBefore = this.received.samples;
    const raw = unpack(body, headers['content-encoding'] ?? '');
    if (url.startsWith('/api/v1/write')) readRemoteWrite(raw, this.received);
    else if (url !== '/v1/metrics') return;
    else if (String(headers['content-type']).includes('json')) readOtlpJson(raw, this.received);
    else readOtlpProtobuf(raw, this.received);
    this.#bodyBytes += body.length;
    if (this.received.samples === samplesBefore) return;
    this.#lastSampleAtMs = Date.now();
    this.#firstSampleAtMs ||= this.#lastSampleAtMs;
  }
}

function unpack(body: Buffer, encoding: string): Buffer {
  const options = { maxOutputLength: REQUEST_BYTES_MAX };
  if (encoding === 'gzip') return gunzipSync(body, options);
  if (encoding === 'zstd') return zstdDecompressSync(body, options);
  if (encoding === 'snappy') return uncompress(body, REQUEST_BYTES_MAX);
  return body;
}

interface Answers {
  readonly listen: () => Promise<string>;
  readonly open: () => void;
  readonly shut: () => void;
  readonly counts: () => SinkCounts;
  readonly arrived: () => SeriesSet;
}

/** The bench's side of a sink. One call at a time. */
export class SinkProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  url = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** `isTimed`: whether the pages have timestamps. */
  static async start(isTimed: boolean): Promise<SinkProcess> {
    const execArgv = ['--max-old-space-size=8192'];
    const args = isTimed ? [TIMED] : [];
    const child = fork(import.meta.filename, args, { serialization: 'advanced', execArgv });
    const sink = new SinkProcess(child);
    sink.url = await sink.ask('listen');
    return sink;
  }

  async ask<Name extends keyof Answers>(what: Name): Promise<Awaited<ReturnType<Answers[Name]>>> {
    const answered = once(this.#child, 'message');
    this.#child.send(what);
    const [answer] = await answered;
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}

const TIMED = 'timed';

if (import.meta.main) {
  const sink = new Sink(process.argv.includes(TIMED));
  const answers: Answers = {
    listen: () => sink.listen(),
    open: () => void (sink.isOpen = true),
    shut: () => void (sink.isOpen = false),
    counts: () => sink.counts(),
    arrived: () => sink.received.series(),
  };
  const answer = async (what: keyof Answers): Promise<void> => {
    process.send?.((await answers[what]()) ?? null);
  };
  process.on('message', (what: keyof Answers) => void answer(what));
  process.on('disconnect', () => process.exit());
}
