// Back ends of the tests that hold senders to what the vendors publish: authentication, headers of a signal, protocol,
// compression, sizes, temporality, kinds, lengths of values, names. Where no answer is published, it is the bare status.
// They decode with the oracle of the tests, and note what came and what they refused.

import type { BackEndName } from '../../src/config/back-ends.ts';
import { oracleDecodeLogs, oracleDecodeMetrics } from '../reference/oracle.ts';
import { BackEnd, type ReceivedRequest } from './back-end.ts';
import { GrpcBackEnd, type GrpcRequest } from './grpc-back-end.ts';
import { attributesOf, otlpLogs, type PlacedPoint, placedPoints } from './otlp-points.ts';

type Signal = 'metrics' | 'logs';

interface Contract {
  /** The header with the token, as it must be. */
  readonly token?: readonly [name: string, value: string];
  readonly signalHeaders?: Partial<Readonly<Record<Signal, readonly string[]>>>;
  readonly encodings?: readonly string[];
  readonly pointsMax?: number;
  /** Before compression. */
  readonly bytesMax?: number;
  readonly packedBytesMax?: number;
  readonly valueLengthMax?: number;
  readonly temporality?: 'cumulative' | 'delta';
  readonly takesNoSummaries?: true;
  readonly takesNoLogs?: true;
  readonly paths?: Readonly<Record<Signal, string>>;
  readonly names?: RegExp;
  /** The published answer to too many points. */
  readonly tooMany?: readonly [status: number, words: string];
}

/** The token of every contract. */
export const TOKEN = 'canary-of-the-token';

const GZIP = ['gzip', 'identity'];

export const CONTRACTS: Readonly<Record<BackEndName, Contract>> = {
  collector: { bytesMax: 20 * 2 ** 20 },
  prometheus: {
    encodings: GZIP,
    temporality: 'cumulative',
    takesNoLogs: true,
    paths: { metrics: '/api/v1/otlp/v1/metrics', logs: '' },
  },
  'victoria-metrics': {
    bytesMax: 64 * 2 ** 20,
    temporality: 'cumulative',
    takesNoLogs: true,
    paths: { metrics: '/opentelemetry/v1/metrics', logs: '' },
  },
  'grafana-cloud': {
    token: ['authorization', `Basic ${Buffer.from(`123456:${TOKEN}`).toString('base64')}`],
    encodings: GZIP,
    temporality: 'cumulative',
  },
  datadog: {
    token: ['dd-api-key', TOKEN],
    temporality: 'delta',
    bytesMax: 5_000_000,
    packedBytesMax: 500_000,
  },
  dynatrace: {
    token: ['authorization', `Api-Token ${TOKEN}`],
    temporality: 'delta',
    pointsMax: 15_000,
    bytesMax: 4_000_000,
    valueLengthMax: 255,
    takesNoSummaries: true,
  },
  'new-relic': { token: ['api-key', TOKEN], bytesMax: 1_000_000, valueLengthMax: 4095 },
  honeycomb: {
    token: ['x-honeycomb-team', TOKEN],
    signalHeaders: { metrics: ['x-honeycomb-dataset'] },
  },
  elastic: { token: ['authorization', `ApiKey ${TOKEN}`], temporality: 'delta' },
  google: {
    token: ['authorization', `Bearer ${TOKEN}`],
    temporality: 'cumulative',
    pointsMax: 200,
    names: /^[a-zA-Z][a-zA-Z0-9_:./]*$/,
  },
  cloudwatch: {
    token: ['authorization', `Bearer ${TOKEN}`],
    signalHeaders: { logs: ['x-aws-log-group', 'x-aws-log-stream'] },
    encodings: GZIP,
    pointsMax: 1000,
    bytesMax: 1_000_000,
    tooMany: [400, 'Maximum number of datapoints per request exceeded: 1000'],
  },
  'azure-monitor': { token: ['authorization', `Bearer ${TOKEN}`], temporality: 'delta' },
  splunk: {
    token: ['x-sf-token', TOKEN],
    takesNoLogs: true,
    paths: { metrics: '/v2/datapoint/otlp', logs: '' },
  },
  chronosphere: { token: ['api-token', TOKEN], encodings: GZIP },
  signoz: { token: ['signoz-ingestion-key', TOKEN] },
  clickstack: { token: ['authorization', TOKEN] },
};

/** One request as both protocols have it. */
interface Seen {
  readonly signal: Signal;
  readonly header: (name: string) => string | undefined;
  readonly encoding: string;
  readonly packedBytes: number;
  readonly raw: Buffer;
}

type Refusal = readonly [status: number, words: string];

/** Points are data points, or log records. */
export interface ContractFigures {
  requests: number;
  refused: number;
  points: number;
  records: number;
  largestBytes: number;
  largestPoints: number;
  /** Of an attribute, in characters. */
  longestValue: number;
}

export class ContractBackEnd {
  readonly figures: ContractFigures = {
    requests: 0,
    refused: 0,
    points: 0,
    records: 0,
    largestBytes: 0,
    largestPoints: 0,
    longestValue: 0,
  };
  /** Why requests were refused. */
  readonly refusals: string[] = [];
  readonly url: string;
  readonly #contract: Contract;
  readonly #stop: () => Promise<void>;

  private constructor(contract: Contract, back: BackEnd | GrpcBackEnd) {
    this.#contract = contract;
    this.url = back.url;
    this.#stop = () => back.stop();
    if (back instanceof BackEnd) back.answer = request => this.#answerHttp(request);
    else back.answer = request => this.#answerGrpc(request);
  }

  static async start(name: BackEndName): Promise<ContractBackEnd> {
    const back = name === 'chronosphere' ? await GrpcBackEnd.start() : await BackEnd.start();
    return new ContractBackEnd(CONTRACTS[name], back);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop();
  }

  #answerHttp(request: ReceivedRequest): { status: number; body: string } {
    const { path, headers, body, raw } = request;
    const signal = path.endsWith('logs') ? 'logs' : 'metrics';
    const { paths = { metrics: '/v1/metrics', logs: '/v1/logs' } } = this.#contract;
    const header = (name: string): string | undefined => headers[name]?.toString();
    const encoding = headers['content-encoding'] ?? 'identity';
    const seen = { signal, header, encoding, packedBytes: body.length, raw } as const;
    const isKnown = request.method === 'POST' && path === paths[signal];
    const [status, words] = this.#judge(seen, isKnown ? null : [404, `no ${path} here`]);
    return { status, body: words };
  }

  #answerGrpc({ signal, metadata, bytes }: GrpcRequest): { code: number; message: string } {
    const header = (name: string): string | undefined => metadata[name]?.toString();
    // The library unpacks requests, and hides their encoding.
    const seen = { signal, header, encoding: 'gzip', packedBytes: 0, raw: bytes } as const;
    const [status, words] = this.#judge(seen, null);
    const codes: Readonly<Record<number, number>> = { 200: 0, 401: 16, 413: 8 };
    return { code: codes[status] ?? 3, message: words };
  }

  #judge(seen: Seen, before: Refusal | null): Refusal {
    const { figures } = this;
    const points = seen.signal === 'metrics' ? placedPoints(oracleDecodeMetrics(seen.raw)) : [];
    const logs = seen.signal === 'logs' ? otlpLogs(oracleDecodeLogs(seen.raw)) : [];
    const records = logs.map(({ record }) => record);
    const count = points.length + records.length;
    figures.requests++;
    figures.largestBytes = Math.max(figures.largestBytes, seen.raw.length);
    figures.largestPoints = Math.max(figures.largestPoints, count);
    const values = [
      ...points.flatMap(({ point }) => Object.values(attributesOf(point.attributes))),
      ...records.flatMap(({ attributes }) => Object.values(attributesOf(attributes))),
    ];
    figures.longestValue = Math.max(figures.longestValue, ...values.map(({ length }) => length));
    const refusal =
      before ??
      this.#ofHeaders(seen) ??
      this.#ofSize(seen, count) ??
      this.#ofValues(values) ??
      this.#ofPoints(points);
    if (refusal === null) {
      figures.points += points.length;
      figures.records += records.length;
      return [200, ''];
    }
    figures.refused++;
    this.refusals.push(`${seen.signal}: ${refusal.join(' ')}`);
    return refusal;
  }

  #ofHeaders({ signal, header, encoding }: Seen): Refusal | null {
    const { token, signalHeaders, encodings, takesNoLogs } = this.#contract;
    if (token !== undefined && header(token[0]) !== token[1]) return [401, ''];
    const missing = signalHeaders?.[signal]?.find(name => header(name) === undefined);
    if (missing !== undefined) return [400, `no ${missing}`];
    if (encodings?.includes(encoding) === false) return [400, `no ${encoding} here`];
    return takesNoLogs !== undefined && signal === 'logs' ? [404, 'no logs here'] : null;
  }

  #ofSize({ signal, packedBytes, raw }: Seen, count: number): Refusal | null {
    const { pointsMax = Infinity, bytesMax = Infinity, packedBytesMax = Infinity } = this.#contract;
    if (raw.length > bytesMax || packedBytes > packedBytesMax) return [413, ''];
    if (signal === 'metrics' && count > pointsMax) return this.#contract.tooMany ?? [400, ''];
    return null;
  }

  #ofValues(values: readonly string[]): Refusal | null {
    const { valueLengthMax = Infinity } = this.#contract;
    return values.some(value => value.length > valueLengthMax)
      ? [400, 'a value is too long']
      : null;
  }

  #ofPoints(points: readonly PlacedPoint[]): Refusal | null {
    const { temporality, takesNoSummaries, names = /^/ } = this.#contract;
    for (const { metric, type, temporality: own } of points) {
      if (!names.test(metric.name ?? '')) return [400, `the name ${metric.name ?? ''}`];
      if (takesNoSummaries && type === 'summary') return [400, 'a summary'];
      const isCounter = type === 'histogram' || metric.sum?.isMonotonic === true;
      if (temporality !== undefined && isCounter && own !== temporality)
        return [400, `${own} instead of ${temporality}`];
    }
    return null;
  }
}
