// The back end of a bench, in a separate process: takes OTLP over HTTP and remote write, unpacks and reads every
// request, and keeps the figures that verify.ts needs. Commands come from the parent; see child.ts.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { uncompress } from 'snappyjs';
import { listen, readBody } from '../src/simulator/loopback-server.ts';
import { answerParent } from './child.ts';
import { readOtlpJson, readOtlpProtobuf, readRemoteWrite } from './sink/read.ts';
import { Received, type ReceivedReport } from './sink/received.ts';

export interface SinkCounts {
  readonly samples: number;
  readonly requests: number;
  readonly bodyBytes: number;
  readonly rawBytes: number;
  /** When the first and the last request with samples of the pages were read, by the wall clock; 0 before. */
  readonly firstSampleAtMs: number;
  readonly lastSampleAtMs: number;
  /** Requests that could not be read. */
  readonly failures: readonly string[];
}

const REQUEST_BYTES_MAX = 1024 * 1024 * 1024;
const FAILURES_MAX = 10;

class Sink {
  readonly received = new Received();
  /** Whether requests are taken; otherwise the answer is 503. */
  isOpen = true;
  #requests = 0;
  #bodyBytes = 0;
  #rawBytes = 0;
  #firstSampleAtMs = 0;
  #lastSampleAtMs = 0;
  readonly #failures: string[] = [];

  async listen(): Promise<string> {
    const { server, url } = await listen({}, (...exchange) => this.#take(...exchange));
    server.keepAliveTimeout = 120_000;
    return url;
  }

  counts(): SinkCounts {
    return {
      samples: this.received.samples,
      requests: this.#requests,
      bodyBytes: this.#bodyBytes,
      rawBytes: this.#rawBytes,
      firstSampleAtMs: this.#firstSampleAtMs,
      lastSampleAtMs: this.#lastSampleAtMs,
      failures: this.#failures,
    };
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request, REQUEST_BYTES_MAX);
    // The client gave the request up. If it does not send it again, verify.ts finds the samples missing.
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
    this.#requests++;
    this.#bodyBytes += body.length;
    this.#rawBytes += raw.length;
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

const sink = new Sink();

export type SinkCalls = {
  readonly listen: () => Promise<string>;
  readonly setOpen: (isOpen: boolean) => void;
  readonly counts: () => SinkCounts;
  readonly report: () => ReceivedReport;
};

if (import.meta.main)
  answerParent({
    listen: () => sink.listen(),
    setOpen: (isOpen: boolean) => {
      sink.isOpen = isOpen;
    },
    counts: () => sink.counts(),
    report: () => sink.received.report(),
  } satisfies SinkCalls);
