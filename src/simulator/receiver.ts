// A small OTLP back end: takes POST /v1/metrics and /v1/logs in protobuf or JSON, plain, gzip or zstd, keeps
// bounded totals of what it accepted, and can be made to refuse, delay or drop what it is sent. It decodes
// with the functions it is given; without them it counts requests and bytes only.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';
import { causeText } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { LogsRequestJson, MetricsRequestJson } from '../pipeline/encode/otlp-shape.ts';
import { listen, type ListenOptions, type LoopbackServer } from './loopback-server.ts';
import {
  logRecordCount,
  pointsOf,
  type ReceivedKind,
  type ReceivedPoint,
} from './receiver-points.ts';
import {
  type OtlpFormat,
  type PartialSuccess,
  refusalBody,
  successBody,
} from './receiver-response.ts';
import { hasLeft, readBody } from './request-body.ts';
import { RequestRecord } from './request-record.ts';

export interface ReceiverOptions extends ListenOptions {
  readonly clock: Clock;
  readonly decodeMetrics?: (body: Uint8Array) => MetricsRequestJson;
  readonly decodeLogs?: (body: Uint8Array) => LogsRequestJson;
  /** How many of the latest points are kept; default 10,000. */
  readonly pointsMax?: number;
  /** Called with each accepted body, inflated, before it is answered. The bytes may be kept. */
  readonly onAccepted?: (signal: ReceivedSignal, body: Buffer, format: OtlpFormat) => void;
}

export type ReceivedSignal = 'metrics' | 'logs';

/** How requests are answered. Refused requests count in nothing but `requests` and `refused`. */
export interface ReceiverBehaviour {
  /** How many more requests are treated so; null: until it is set otherwise. */
  readonly times: number | null;
  /** Refuse with this status; null: accept. */
  readonly status: number | null;
  readonly retryAfter: string | null;
  /** Accept and keep, but break the connection off within the answer: the sender cannot know. */
  readonly isAnswerCut: boolean;
  /** Take the request and never answer. */
  readonly isSilent: boolean;
  /** Accept, and answer this much later. */
  readonly delayMs: number;
  /** Accept with this partial success. */
  readonly partialSuccess: PartialSuccess | null;
}

export interface ReceiverTotals {
  requests: number;
  refused: number;
  /** Of accepted requests: as they came, and inflated. */
  wireBytes: number;
  bodyBytes: number;
  /** Of accepted requests, whatever a partial success said. */
  readonly points: Record<ReceivedKind, number>;
  /** Those of the points that are staleness markers. */
  stalePoints: number;
  logRecords: number;
}

const GOOD: ReceiverBehaviour = {
  times: null,
  status: null,
  retryAfter: null,
  isAnswerCut: false,
  isSilent: false,
  delayMs: 0,
  partialSuccess: null,
};
const BODY_BYTES_MAX = 64 * 2 ** 20;
const POINTS_MAX = 10_000;

const unzip = promisify(gunzip);
const unzstd = promisify(zstdDecompress);

/** Rejects when the port cannot be had. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  return await Receiver.start(options);
}

export class Receiver {
  readonly requests: RequestRecord = new RequestRecord();
  readonly totals: ReceiverTotals = {
    requests: 0,
    refused: 0,
    wireBytes: 0,
    bodyBytes: 0,
    points: { sum: 0, updown: 0, gauge: 0, histogram: 0, summary: 0, other: 0 },
    stalePoints: 0,
    logRecords: 0,
  };
  readonly #options: ReceiverOptions;
  #latest: ReceivedPoint[] = [];
  #behaviour = GOOD;
  #server: LoopbackServer | null = null;

  private constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  static async start(options: ReceiverOptions): Promise<Receiver> {
    const receiver = new Receiver(options);
    receiver.#server = await listen(options, (request, response) =>
      receiver.#handle(request, response),
    );
    return receiver;
  }

  /** The OTLP endpoint, without a trailing slash and without the signal's path. */
  get url(): string {
    return this.#server?.url ?? '';
  }

  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** The latest points, at most `pointsMax`, oldest first. */
  get points(): readonly ReceivedPoint[] {
    return this.#latest;
  }

  /** What is not named is as in a good receiver. */
  behave(behaviour: Partial<ReceiverBehaviour>): void {
    this.#behaviour = { ...GOOD, ...behaviour };
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request, BODY_BYTES_MAX);
    // What is read only after its sender has gone counts as never received.
    if (body.kind === 'broken' || (await hasLeft(request))) return void response.destroy();
    this.requests.add(request, this.#options.clock.nowMs());
    this.totals.requests++;
    const behaviour = this.#takeBehaviour();
    if (behaviour.isSilent) return;
    const reply = new Reply(response, formatOf(request));
    const { status, retryAfter, delayMs, partialSuccess } = behaviour;
    if (status !== null && retryAfter !== null) response.setHeader('retry-after', retryAfter);
    const problem =
      status === null
        ? await this.#accept(request, body.kind === 'whole' ? body.bytes : null)
        : { status, message: 'simulated refusal' };
    if (delayMs > 0) await this.#delay(response, delayMs);
    if (problem !== null) {
      this.totals.refused++;
      return reply.refuse(problem);
    }
    const isLogs = signalOf(request) === 'logs';
    reply.accept(partialSuccess, isLogs, behaviour.isAnswerCut);
  }

  async #accept(request: IncomingMessage, wire: Buffer | null): Promise<Problem | null> {
    const signal = signalOf(request);
    if (signal === null) return { status: 404, message: 'not a signal of this receiver' };
    if (request.method !== 'POST') return { status: 405, message: 'only POST' };
    if (wire === null) return { status: 413, message: 'body too long' };
    if (formatOf(request) === null) return { status: 415, message: 'neither protobuf nor JSON' };
    try {
      const body = await inflate(wire, request.headers['content-encoding'] ?? 'identity');
      if (body === null) return { status: 415, message: 'unknown content encoding' };
      const format = formatOf(request) ?? 'protobuf';
      this.#count(signal, body, format);
      this.totals.wireBytes += wire.length;
      this.totals.bodyBytes += body.length;
      this.#options.onAccepted?.(signal, body, format);
    } catch (error) {
      return { status: 400, message: causeText(error) };
    }
    return null;
  }

  #count(signal: ReceivedSignal, body: Buffer, format: OtlpFormat): void {
    const { decodeMetrics, decodeLogs, pointsMax = POINTS_MAX } = this.#options;
    const json: unknown = format === 'json' ? JSON.parse(body.toString()) : null;
    if (signal === 'logs') {
      const logs = format === 'json' ? (json as LogsRequestJson) : decodeLogs?.(body);
      if (logs !== undefined) this.totals.logRecords += logRecordCount(logs);
      return;
    }
    const metrics = format === 'json' ? (json as MetricsRequestJson) : decodeMetrics?.(body);
    if (metrics === undefined) return;
    const points = [...pointsOf(metrics)];
    for (const point of points) {
      this.totals.points[point.kind]++;
      if (point.isStale) this.totals.stalePoints++;
    }
    this.#latest = this.#latest.concat(points).slice(-pointsMax);
  }

  async #delay(response: ServerResponse, delayMs: number): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    await this.#options.clock.sleep(delayMs, gone.signal);
  }

  #takeBehaviour(): ReceiverBehaviour {
    const behaviour = this.#behaviour;
    if (behaviour.times === null) return behaviour;
    if (behaviour.times === 0) return GOOD;
    this.#behaviour = { ...behaviour, times: behaviour.times - 1 };
    return behaviour;
  }
}

interface Problem {
  readonly status: number;
  readonly message: string;
}

/** One answer, in the format of its request. */
class Reply {
  readonly #response: ServerResponse;
  readonly #format: OtlpFormat;

  constructor(response: ServerResponse, format: OtlpFormat | null) {
    this.#response = response;
    this.#format = format ?? 'protobuf';
    response.setHeader('content-type', CONTENT_TYPES[this.#format]);
  }

  refuse({ status, message }: Problem): void {
    this.#response.statusCode = status;
    this.#response.end(refusalBody(this.#format, status, message));
  }

  accept(partial: PartialSuccess | null, isLogs: boolean, isCut: boolean): void {
    const name = isLogs ? 'rejectedLogRecords' : 'rejectedDataPoints';
    const body = successBody(this.#format, partial, name);
    const response = this.#response;
    if (!isCut) return void response.setHeader('content-length', body.length).end(body);
    response.setHeader('content-length', 2);
    response.write('{', () => response.destroy());
  }
}

const CONTENT_TYPES: Readonly<Record<OtlpFormat, string>> = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
};

function formatOf({ headers }: IncomingMessage): OtlpFormat | null {
  const type = headers['content-type']?.replace(/;.*$/u, '').trim();
  if (type === CONTENT_TYPES.protobuf) return 'protobuf';
  return type === CONTENT_TYPES.json ? 'json' : null;
}

function signalOf({ url = '' }: IncomingMessage): ReceivedSignal | null {
  const path = url.replace(/\?.*$/u, '');
  if (path === '/v1/metrics') return 'metrics';
  return path === '/v1/logs' ? 'logs' : null;
}

async function inflate(wire: Buffer, encoding: string): Promise<Buffer | null> {
  const limit = { maxOutputLength: BODY_BYTES_MAX };
  if (encoding === 'identity') return wire;
  if (encoding === 'gzip') return await unzip(wire, limit);
  return encoding === 'zstd' ? await unzstd(wire, limit) : null;
}
