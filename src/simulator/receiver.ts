// A small OTLP back end for the demo: takes POST /v1/metrics and /v1/logs in protobuf, plain, gzip or zstd, decodes them,
// and counts what it accepted.

import type { IncomingMessage } from 'node:http';
import { causeText } from '../errors.ts';
import { decodeLogsRequest, decodeMetricsRequest } from '../pipeline/encode/otlp-json.ts';
import type { MetricJson } from '../pipeline/encode/otlp-fields.ts';
import type { Encoding } from '../pipeline/queue/commit.ts';
import { decompress } from '../pipeline/queue/compression.ts';
import { listen, type LoopbackServer, readBody } from './loopback-server.ts';

/** Points by type: monotonic sums, other sums, gauges, and all others. */
type ReceivedKind = 'sum' | 'updown' | 'gauge' | 'other';

const BODY_BYTES_MAX = 64 * 2 ** 20;
const ENCODINGS: Readonly<Record<string, Encoding>> = {
  identity: 'none',
  gzip: 'gzip',
  zstd: 'zstd',
};

export class Receiver {
  readonly points: Record<ReceivedKind, number> = { sum: 0, updown: 0, gauge: 0, other: 0 };
  /** The names of the metrics that had points. */
  readonly names: Readonly<Record<ReceivedKind, Set<string>>> = {
    sum: new Set(),
    updown: new Set(),
    gauge: new Set(),
    other: new Set(),
  };
  logRecords = 0;
  #server: LoopbackServer | null = null;

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server = await listen({}, async (request, response) => {
      const problem = await receiver.#accept(request);
      response.writeHead(problem?.status ?? 200, { 'content-type': 'application/x-protobuf' });
      response.end(problem?.message ?? '');
    });
    return receiver;
  }

  /** The OTLP endpoint, without a trailing slash and without the signal's path. */
  get url(): string {
    return this.#server?.url ?? '';
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  async #accept(
    request: IncomingMessage,
  ): Promise<{ readonly status: number; readonly message: string } | null> {
    const body = await readBody(request, BODY_BYTES_MAX);
    const encoding = ENCODINGS[request.headers['content-encoding'] ?? 'identity'];
    const isLogs = request.url === '/v1/logs';
    if (request.method !== 'POST' || !(isLogs || request.url === '/v1/metrics'))
      return { status: 404, message: 'only POST /v1/metrics and /v1/logs' };
    if (body.kind !== 'whole' || encoding === undefined)
      return { status: 400, message: 'a body too long, broken or of unknown encoding' };
    try {
      const bytes = await decompress(encoding, body.bytes, BODY_BYTES_MAX);
      if (isLogs) this.#countLogs(bytes);
      else this.#countPoints(bytes);
      return null;
    } catch (error) {
      return { status: 400, message: causeText(error) };
    }
  }

  #countPoints(bytes: Buffer): void {
    for (const { scopeMetrics = [] } of decodeMetricsRequest(bytes).resourceMetrics ?? [])
      for (const metric of scopeMetrics.flatMap(({ metrics = [] }) => metrics)) {
        const kind = kindOf(metric);
        const data = metric.sum ?? metric.gauge ?? metric.histogram ?? metric.summary;
        this.points[kind] += data?.dataPoints?.length ?? 0;
        this.names[kind].add(metric.name ?? '');
      }
  }

  #countLogs(bytes: Buffer): void {
    for (const { scopeLogs = [] } of decodeLogsRequest(bytes).resourceLogs ?? [])
      for (const { logRecords = [] } of scopeLogs) this.logRecords += logRecords.length;
  }
}

function kindOf({ sum, gauge }: MetricJson): ReceivedKind {
  if (sum !== undefined) return sum.isMonotonic === true ? 'sum' : 'updown';
  return gauge === undefined ? 'other' : 'gauge';
}
