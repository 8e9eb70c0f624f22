// A simulation of the service: metrics, logs, backups and agent on a real HTTP server that wants an `X-API-Key`, with
// faults that can be set while it runs. For tests, benches, the demo, and developers without an account.
// Its numbers are a function of seed and clock (world.ts): `sample` gives the number that a test must have received.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { isLoopbackHost } from '../lib/loopback.ts';
import { createAgentEndpoint } from './agent-endpoint.ts';
import {
  type Answer,
  detailAnswer,
  type Endpoint,
  type EndpointRequest,
  errorAnswer,
} from './answer.ts';
import { createBackupEndpoint } from './backup-endpoint.ts';
import { deliver } from './delivery.ts';
import { controlAnswer, type Faults, NO_FAULTS } from './faults.ts';
import { createLogsEndpoint } from './logs-endpoint.ts';
import { GeneratedLogs, type LogSource } from './log-source.ts';
import { METRICS_PATH, MetricsEndpoint } from './metrics-endpoint.ts';
import {
  listen,
  type ListenOptions,
  type LoopbackServer,
  readBody,
  RequestRecord,
} from './loopback-server.ts';
import {
  type CorpusOptions,
  corpusServices,
  demoServices,
  type SimulatedService,
} from './topology.ts';
import { World } from './world.ts';

export interface SimulatorOptions extends ListenOptions {
  readonly clock: Clock;
  /** The only key that opens anything. */
  readonly key: string;
  /** Default: demoServices(), or what `corpus` asks for. */
  readonly services?: readonly SimulatedService[];
  readonly corpus?: CorpusOptions;
  /** Default 1. */
  readonly seed?: number;
  /** How often the store takes new samples; default one minute. */
  readonly refreshMs?: number;
  /** How much older a proxy's samples are; default twice refreshMs. */
  readonly proxyLagMs?: number;
  /** The status of the answer to a wrong or missing key (the agent always answers 401); default 400. */
  readonly refusalStatus?: number;
  /** Default: lines for every server, as a function of the seed. */
  readonly logs?: LogSource;
  /** All servers started in the week before; default the start of 2026, or a day ago if that is earlier. */
  readonly originMs?: number;
}

/** A sample as the page shows it. */
export interface ShownSample {
  readonly value: number;
  readonly timeMs: number;
}

const CONTROL_PATH = '/_control';
/** A path that begins like this is the rest of it, free of faults: where same-origin redirects lead. */
const MOVED_PATH = '/_moved';
const AGENT_PATH = '/copilot/';
const BODY_BYTES_MAX = 2 ** 20;
const DAY_MS = 86_400_000;
const ORIGIN_MS = Date.UTC(2026, 0, 1);

/** Rejects when the port cannot be had. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  return await Simulator.start(options);
}

export class Simulator {
  readonly world: World;
  readonly requests: RequestRecord = new RequestRecord();
  /** May be set, as when a key is rotated. */
  key: string;
  refusalStatus: number;
  readonly #clock: Clock;
  readonly #metrics: MetricsEndpoint;
  readonly #endpoints: readonly (readonly [path: string, endpoint: Endpoint])[];
  #faults: Faults = NO_FAULTS;
  #frozenMs = 0;
  #server: LoopbackServer | null = null;

  private constructor(options: SimulatorOptions) {
    const { clock, corpus, seed = 1, refreshMs = 60_000 } = options;
    const { originMs = Math.min(ORIGIN_MS, clock.nowMs() - DAY_MS) } = options;
    const defaults = corpus === undefined ? demoServices() : corpusServices(corpus);
    this.world = new World({ services: options.services ?? defaults, seed, originMs });
    this.key = options.key;
    this.refusalStatus = options.refusalStatus ?? 400;
    this.#clock = clock;
    const logs = options.logs ?? new GeneratedLogs(this.world.services, seed);
    const proxyLagMs = options.proxyLagMs ?? 2 * refreshMs;
    this.#metrics = new MetricsEndpoint(this.world, { refreshMs, proxyLagMs });
    const metrics: Endpoint = request =>
      request.path === '' ? this.#metrics.answer(request, this.#storeMs(), this.#faults) : null;
    this.#endpoints = [
      [METRICS_PATH, metrics],
      ['/observability/v2/logs', createLogsEndpoint(logs, () => this.#faults)],
      ['/backup/v1', createBackupEndpoint(this.world.services, () => this.#faults)],
      ['/copilot/v1', createAgentEndpoint(() => this.#faults)],
    ];
  }

  static async start(options: SimulatorOptions): Promise<Simulator> {
    const simulator = new Simulator(options);
    simulator.#server = await listen(options, (request, response) =>
      simulator.#handle(request, response),
    );
    return simulator;
  }

  /** The base URL, without a trailing slash. */
  get url(): string {
    return this.#server?.url ?? '';
  }

  get port(): number {
    return this.#server?.port ?? 0;
  }

  get faults(): Faults {
    return this.#faults;
  }

  /** Changes these faults and leaves the others. */
  setFaults(faults: Partial<Faults>): void {
    const wasFrozen = this.#faults.timestamps === 'frozen';
    if (faults.timestamps === 'frozen' && !wasFrozen) this.#frozenMs = this.#nowMs();
    this.#faults = { ...this.#faults, ...faults };
  }

  resetFaults(): void {
    this.#faults = NO_FAULTS;
  }

  /** Starts a server's process anew, now. False if there is no such server. */
  restart(serverName: string): boolean {
    return this.world.restart(serverName, this.#nowMs());
  }

  /** Zeroes a server's flushable counters, now. False if there is no such server. */
  flushStatus(serverName: string): boolean {
    return this.world.flushStatus(serverName, this.#nowMs());
  }

  /** The sample that the page shows now of the one series with this name and these labels; undefined if there is none. */
  sample(name: string, labels: Readonly<Record<string, string>> = {}): ShownSample | undefined {
    const series = this.world.find(name, labels);
    if (series === undefined) return undefined;
    const timeMs = this.#metrics.sampleTimeMs(series.server, this.#storeMs());
    return { value: this.world.valueOf(series, timeMs), timeMs };
  }

  /** The metrics page as it is served now, before transport faults. Not to be written to. */
  page(): Buffer {
    return this.#metrics.page(null, this.#storeMs(), this.#faults);
  }

  describe(): Readonly<Record<string, unknown>> {
    return {
      services: this.world.services.map(({ id, name, topology, servers }) => ({
        id,
        name,
        topology,
        servers: servers.map(server => server.name),
      })),
      series: this.world.series.length,
      requests: this.requests.count,
      requestsByPath: Object.fromEntries(this.requests.countByPath),
    };
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #nowMs(): number {
    return this.#clock.nowMs() + this.#faults.clockSkewMs;
  }

  #storeMs(): number {
    return this.#faults.timestamps === 'frozen' ? this.#frozenMs : this.#nowMs();
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://localhost');
    const isMoved = pathname.startsWith(`${MOVED_PATH}/`);
    const path = isMoved ? pathname.slice(MOVED_PATH.length) : pathname;
    const body = await readBody(incoming, BODY_BYTES_MAX);
    if (body.kind === 'broken') return void response.destroy();
    const nowMs = this.#nowMs();
    const request: EndpointRequest = {
      method: incoming.method ?? 'GET',
      path: path.replace(/\/$/u, ''),
      query: searchParams,
      headers: incoming.headers,
      json: body.kind === 'whole' ? parseJson(body.bytes) : undefined,
      nowMs,
    };
    const clock = this.#clock;
    if (path === CONTROL_PATH) {
      const answer = this.#control(incoming, request);
      return await deliver({ response, answer, faults: NO_FAULTS, clock, nowMs });
    }
    this.requests.add(incoming, clock.nowMs());
    const faults = isMoved ? NO_FAULTS : this.#takeFaults(path, request.method);
    const answer =
      body.kind === 'too-long'
        ? errorAnswer(413, 'Body too long', request)
        : this.#answer(incoming, request, faults);
    await deliver({ response, answer, faults, clock, nowMs });
  }

  #answer(incoming: IncomingMessage, request: EndpointRequest, faults: Faults): Answer {
    if (faults.redirectTo !== null) return redirect(faults.redirectTo, incoming.url ?? '/');
    if (faults.status !== null) {
      const answer = errorAnswer(faults.status, 'Simulated failure', request);
      if (faults.retryAfter === null) return answer;
      return { ...answer, headers: { ...answer.headers, 'retry-after': faults.retryAfter } };
    }
    if (incoming.headers['x-api-key'] !== this.key) {
      const message = 'API key is missing or invalid';
      if (request.path.startsWith(AGENT_PATH)) return detailAnswer(401, ['header'], message);
      return errorAnswer(this.refusalStatus, message, request);
    }
    if (request.path.startsWith(AGENT_PATH) && this.#faults.isSlashRequired && !hasSlash(incoming))
      return { status: 307, headers: { location: `${request.path}/` }, body: Buffer.alloc(0) };
    for (const [path, endpoint] of this.#endpoints) {
      const isBelow = request.path === path || request.path.startsWith(`${path}/`);
      if (!isBelow) continue;
      const answer = endpoint({ ...request, path: request.path.slice(path.length) });
      if (answer !== null) return answer;
    }
    return errorAnswer(404, `No ${request.method} at this path`, request);
  }

  #control(incoming: IncomingMessage, request: EndpointRequest): Answer {
    const peer = (incoming.socket.remoteAddress ?? '').replace(/^::ffff:/u, '');
    if (!isLoopbackHost(peer)) return errorAnswer(403, 'Only from this machine', request);
    return controlAnswer(this, request);
  }

  #takeFaults(path: string, method: string): Faults {
    const faults = this.#faults;
    if (!path.startsWith(faults.path) || faults.times === 0) return NO_FAULTS;
    if (faults.method !== null && faults.method !== method) return NO_FAULTS;
    if (faults.times !== null) this.#faults = { ...faults, times: faults.times - 1 };
    return faults;
  }
}

function hasSlash({ url = '/' }: IncomingMessage): boolean {
  return /^[^?]*\/(?:\?|$)/u.test(url);
}

function redirect(target: string, url: string): Answer {
  const location = target === 'same-origin' ? `${MOVED_PATH}${url}` : target;
  return { status: 307, headers: { location }, body: Buffer.alloc(0) };
}

function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
