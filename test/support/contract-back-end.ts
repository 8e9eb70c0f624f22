// Back ends of the tests that hold senders to what the vendors publish: authentication, headers of a signal, protocol,
// compression, sizes, temporality, kinds, lengths of values, names. Where no answer is published, it is the bare status.
// They decode with the oracle of the tests, and note what came and what they refused.

import { hash } from 'node:crypto';
import type { BackEndName } from '../../src/config/back-ends.ts';
import { oracleDecodeLogs, oracleDecodeMetrics } from '../reference/oracle.ts';
import { BackEnd, type ReceivedRequest } from './back-end.ts';
import { GrpcBackEnd, type GrpcRequest } from './grpc-back-end.ts';
import { type HttpTestServer, startHttpServer } from './http-server.ts';
import { attributesOf, otlpLogs, type PlacedPoint, placedPoints } from './otlp-points.ts';

type Signal = 'metrics' | 'logs';

interface Contract {
  /** The header with the token, as it must be; LOGIN is a token endpoint, whose tokens end. */
  readonly token?: readonly [name: string, value: string] | typeof LOGIN;
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

/** The token of every contract, and the password of its token endpoint. */
export const TOKEN = 'canary-of-the-token';

const LOGIN = 'login';

/** A token is good for this many requests: a count, so that the speed of the machine does not matter. */
const TOKEN_REQUESTS = 5;

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
    paths: { metrics: '/otlp/v1/metrics', logs: '/otlp/v1/logs' },
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
    paths: { metrics: '/api/v2/otlp/v1/metrics', logs: '/api/v2/otlp/v1/logs' },
  },
  'new-relic': { token: ['api-key', TOKEN], bytesMax: 1_000_000, valueLengthMax: 4095 },
  honeycomb: {
    token: ['x-honeycomb-team', TOKEN],
    signalHeaders: { metrics: ['x-honeycomb-dataset'] },
  },
  elastic: { token: ['authorization', `ApiKey ${TOKEN}`], temporality: 'delta' },
  google: {
    token: LOGIN,
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
  // Each signal has the URL that its rule names.
  'azure-monitor': {
    token: LOGIN,
    temporality: 'delta',
    paths: { metrics: '/METRICS', logs: '/LOGS' },
  },
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

const EXPIRED: Refusal = [401, 'the token has ended'];

/** Points are data points, or log records. */
export interface ContractFigures {
  requests: number;
  refused: number;
  /** Of these, for a token that has ended. */
  expired: number;
  /** Requests that were refused although the same had been refused before. */
  again: number;
  points: number;
  records: number;
  largestBytes: number;
  largestPoints: number;
  /** Of an attribute, in characters. */
  longestValue: number;
}

/** A token endpoint. The newest token is good for some requests. */
class Login {
  readonly origin: string;
  readonly #server: HttpTestServer;
  #count = 0;
  #requestsLeft = 0;

  private constructor(server: HttpTestServer) {
    this.#server = server;
    this.origin = server.origin;
  }

  static async start(): Promise<Login> {
    const server = await startHttpServer((_, response) => {
      login.#requestsLeft = TOKEN_REQUESTS;
      const body = {
        access_token: `${TOKEN}-${++login.#count}`,
        token_type: 'Bearer',
        expires_in: 3600,
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
    const login = new Login(server);
    return login;
  }

  takes(value: string | undefined): boolean {
    return value === `Bearer ${TOKEN}-${this.#count}` && this.#requestsLeft-- > 0;
  }

  stop(): PromiseLike<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

export class ContractBackEnd {
  readonly figures: ContractFigures = {
    requests: 0,
    refused: 0,
    expired: 0,
    again: 0,
    points: 0,
    records: 0,
    largestBytes: 0,
    largestPoints: 0,
    longestValue: 0,
  };
  /** Why requests were refused, but for a token that has ended. */
  readonly refusals: string[] = [];
  readonly url: string;
  readonly login: Login;
  readonly #refusedBodies = new Set<string>();
  readonly #contract: Contract;
  readonly #stop: () => Promise<void>;

  private constructor(contract: Contract, back: BackEnd | GrpcBackEnd, login: Login) {
    this.#contract = contract;
    this.url = back.url;
    this.login = login;
    this.#stop = async () => {
      await back.stop();
      await login.stop();
    };
    if (back instanceof BackEnd) back.answer = request => this.#answerHttp(request);
    else back.answer = request => this.#answerGrpc(request);
  }

  static async start(name: BackEndName): Promise<ContractBackEnd> {
    const back = name === 'chronosphere' ? await GrpcBackEnd.start() : await BackEnd.start();
    return new ContractBackEnd(CONTRACTS[name], back, await Login.start());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop();
  }

  #answerHttp(request: ReceivedRequest): { status: number; body: string } {
    const { path, headers, body, raw } = request;
    const signal = path.toLowerCase().endsWith('logs') ? 'logs' : 'metrics';
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
    const body = hash('sha256', seen.raw);
    if (this.#refusedBodies.has(body)) figures.again++;
    this.#refusedBodies.add(body);
    if (refusal === EXPIRED) figures.expired++;
    else this.refusals.push(`${seen.signal}: ${refusal.join(' ')}`);
    return refusal;
  }

  #ofHeaders({ signal, header, encoding }: Seen): Refusal | null {
    const { token, signalHeaders, encodings, takesNoLogs } = this.#contract;
    if (token === LOGIN) {
      if (!this.login.takes(header('authorization'))) return EXPIRED;
    } else if (token !== undefined && header(token[0]) !== token[1]) return [401, ''];
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
