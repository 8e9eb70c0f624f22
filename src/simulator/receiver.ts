// A small OTLP back end: takes POST /v1/metrics and /v1/logs in protobuf or JSON, plain, gzip or zstd, keeps
// bounded totals of what it accepted, and can be made to refuse, delay or drop what it is sent. It decodes
// with the functions it is given; without them it counts requests and bytes only.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';
import { causeText } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type {
  AnyValueJson,
  JsonDouble,
  KeyValueJson,
  LogsRequestJson,
  MetricJson,
  MetricsRequestJson,
  PointJson,
} from '../pipeline/encode/otlp-shape.ts';
import {
  hasLeft,
  listen,
  type ListenOptions,
  type LoopbackServer,
  readBody,
  RequestRecord,
} from './loopback-server.ts';

interface ReceiverOptions extends ListenOptions {
  readonly clock: Clock;
  readonly decodeMetrics?: (body: Uint8Array) => MetricsRequestJson;
  readonly decodeLogs?: (body: Uint8Array) => LogsRequestJson;
  /** How many of the latest points are kept; default 10,000. */
  readonly pointsMax?: number;
  /** Called with each accepted body, inflated, before it is answered. The bytes may be kept. */
  readonly onAccepted?: (signal: ReceivedSignal, body: Buffer, format: OtlpFormat) => void;
}

type ReceivedSignal = 'metrics' | 'logs';

/** How requests are answered. Refused requests count in nothing but `requests` and `refused`. */
interface ReceiverBehaviour {
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

interface ReceiverTotals {
  requests: number;
  refused: number;
  /** Of accepted requests: as they came, and inflated. */
  wireBytes: number;
  bodyBytes: number;
  /** Of accepted requests; partial successes count in full. */
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

  /** Members that are left out are as in a good receiver. */
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
    // A request that was read only after its sender has gone counts as never received.
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

// Reads a decoded OTLP request (OTLP/JSON in shape) into flat points: one object per point with its metric,
// resource and scope, which is what tests and the demo look at.

type ReceivedKind = 'sum' | 'updown' | 'gauge' | 'histogram' | 'summary' | 'other';

interface ReceivedPoint {
  readonly name: string;
  readonly kind: ReceivedKind;
  readonly unit: string;
  /** `delta` or another word. */
  readonly isDelta: boolean;
  readonly resource: Readonly<Record<string, string>>;
  readonly scope: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Nanoseconds; 0 where there is none. */
  readonly startTimeUnixNano: bigint;
  readonly timeUnixNano: bigint;
  /** Of sums and gauges; NaN for other kinds. */
  readonly value: number;
  /** True for a staleness marker: a point that says that there is no value. */
  readonly isStale: boolean;
}

/** The points of a metrics request, in its order. */
function* pointsOf(request: MetricsRequestJson): Generator<ReceivedPoint> {
  for (const { resource, scopeMetrics = [] } of request.resourceMetrics ?? []) {
    const resourceAttributes = textAttributes(resource?.attributes);
    for (const { scope, metrics = [] } of scopeMetrics) {
      for (const metric of metrics) {
        const shared = { resource: resourceAttributes, scope: scope?.name ?? '' };
        for (const point of metricPoints(metric)) yield { ...point, ...shared };
      }
    }
  }
}

/** How many log records a logs request holds. */
function logRecordCount(request: LogsRequestJson): number {
  let count = 0;
  for (const { scopeLogs = [] } of request.resourceLogs ?? []) {
    for (const { logRecords = [] } of scopeLogs) count += logRecords.length;
  }
  return count;
}

const NO_RECORDED_VALUE = 1;
const DELTA = 1;

function* metricPoints(metric: MetricJson): Generator<Omit<ReceivedPoint, 'resource' | 'scope'>> {
  const { name = '', unit = '', sum, gauge, histogram, summary } = metric;
  const kind = kindOf(metric);
  const data = sum ?? gauge ?? histogram ?? summary ?? metric.exponentialHistogram;
  const temporality = (sum ?? histogram)?.aggregationTemporality;
  const points: readonly PointJson[] = data?.dataPoints ?? [];
  for (const point of points) {
    yield {
      name,
      kind,
      unit,
      isDelta: temporality === DELTA,
      attributes: textAttributes(point.attributes),
      startTimeUnixNano: BigInt(point.startTimeUnixNano ?? 0),
      timeUnixNano: BigInt(point.timeUnixNano ?? 0),
      value: valueOf(point),
      isStale: ((point.flags ?? 0) & NO_RECORDED_VALUE) !== 0,
    };
  }
}

function kindOf({ sum, gauge, histogram, summary }: MetricJson): ReceivedKind {
  if (sum !== undefined) return sum.isMonotonic === true ? 'sum' : 'updown';
  if (gauge !== undefined) return 'gauge';
  if (histogram !== undefined) return 'histogram';
  return summary === undefined ? 'other' : 'summary';
}

function valueOf(point: PointJson & { asDouble?: JsonDouble; asInt?: string }): number {
  // NaN and the infinities are written as texts that Number() reads.
  return Number(point.asDouble ?? point.asInt ?? NaN);
}

function textAttributes(attributes: readonly KeyValueJson[] = []): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key = '', value = {} }) => [key, textOf(value)]));
}

function textOf(value: AnyValueJson): string {
  const scalar = value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue;
  return scalar === undefined ? JSON.stringify(value) : String(scalar);
}

// The bodies of an OTLP/HTTP receiver, in protobuf or JSON as the request was. Written by hand, so that the
// sender's reader is tested against bytes that its own writer did not make.
//
//   Export*ServiceResponse   1 partial_success      message
//   Export*PartialSuccess    1 rejected_*           int64
//                            2 error_message        string
//   google.rpc.Status        1 code                 int32
//                            2 message              string

type OtlpFormat = 'protobuf' | 'json';

interface PartialSuccess {
  /** 0 with a message is a warning. */
  readonly rejected: number;
  readonly message: string;
}

/** A full success where `partial` is null. `rejectedName` is the member's name in JSON. */
function successBody(
  format: OtlpFormat,
  partial: PartialSuccess | null,
  rejectedName: 'rejectedDataPoints' | 'rejectedLogRecords',
): Buffer {
  if (format === 'json') {
    const partialSuccess =
      partial === null
        ? {}
        : { [rejectedName]: String(partial.rejected), errorMessage: partial.message };
    return Buffer.from(JSON.stringify({ partialSuccess }));
  }
  if (partial === null) return Buffer.alloc(0);
  const message = Buffer.concat([
    integerField(1, partial.rejected),
    bytesField(2, Buffer.from(partial.message)),
  ]);
  return bytesField(1, message);
}

/** A refusal, with the gRPC code for the HTTP status. */
function refusalBody(format: OtlpFormat, status: number, message: string): Buffer {
  const code = RPC_CODES[status] ?? RPC_UNKNOWN;
  if (format === 'json') return Buffer.from(JSON.stringify({ code, message }));
  return Buffer.concat([integerField(1, code), bytesField(2, Buffer.from(message))]);
}

const RPC_UNKNOWN = 2;
const RPC_CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  413: 8,
  429: 8,
  500: 13,
  503: 14,
};

// Proto3: a field that has its default, 0 or nothing, is left out.
function integerField(number: number, value: number): Buffer {
  return value === 0 ? Buffer.alloc(0) : Buffer.from([number << 3, ...varint(value)]);
}

function bytesField(number: number, bytes: Buffer): Buffer {
  const head = Buffer.from([(number << 3) | 2, ...varint(bytes.length)]);
  return bytes.length === 0 && number !== 1 ? Buffer.alloc(0) : Buffer.concat([head, bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) + 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return [...bytes, rest];
}
