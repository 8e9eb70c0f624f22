// A simulation of the service: metrics, logs, backups and agent on a real HTTP server that requires an `X-API-Key`, with
// failures that can be set while it runs. For tests, the demo, and developers without an account. Its numbers are a
// function of seed and clock (world.ts).

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import { parseJson } from '../lib/json.ts';
import { isLoopbackHost } from '../lib/loopback.ts';
import { createAgentEndpoint } from './agent-endpoint.ts';
import {
  type Answer,
  detailAnswer,
  type Endpoint,
  type EndpointRequest,
  errorAnswer,
  jsonAnswer,
} from './answer.ts';
import { createBackupEndpoint } from './backup-endpoint.ts';
import { createHistoryEndpoint } from './history-endpoint.ts';
import { createInventoryEndpoint } from './inventory-endpoint.ts';
import { createLogsEndpoint } from './logs-endpoint.ts';
import { GeneratedLogs, type LogSource } from './log-source.ts';
import {
  listen,
  type ListenOptions,
  type LoopbackServer,
  readBody,
  RequestRecord,
} from './loopback-server.ts';
import { createMetricsEndpoint } from './page.ts';
import { demoServices, type SimulatedService, World } from './world.ts';
import { z } from 'zod';

export interface SimulatorOptions extends ListenOptions {
  readonly clock: Clock;
  /** The only key that opens anything. */
  readonly key: string;
  /** Default: demoServices(). */
  readonly services?: readonly SimulatedService[];
  /** Default 1. */
  readonly seed?: number;
  /** How often the service takes new samples; default one minute. Those of a proxy are two refreshes older. */
  readonly refreshMs?: number;
  /** Default: lines for every server, as a function of the seed. */
  readonly logs?: LogSource;
}

const CONTROL_PATH = '/_control';
const AGENT_PATH = '/copilot/';
const BODY_BYTES_MAX = 2 ** 20;
const ORIGIN_MS = Date.UTC(2026, 0, 1);

/** Rejects if the port is not available. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const simulator = new Simulator(options, NO_FAULTS);
  await simulator.listen(options);
  return simulator;
}

/** A simulation that fails in more ways overrides `nowMs`, `reply` and `serve`. */
export class Simulator<Faulty extends Faults = Faults> {
  readonly world: World;
  readonly logs: LogSource;
  readonly requests: RequestRecord = new RequestRecord();
  /** May be changed, for example to rotate the key. */
  key: string;
  /** The status of the answer to a wrong or missing key; the agent always answers 401. */
  refusalStatus = 400;
  protected readonly clock: Clock;
  readonly #endpoints: readonly (readonly [path: string, endpoint: Endpoint])[];
  readonly #noFaults: Faulty;
  #faults: Faulty;
  #server: LoopbackServer | null = null;

  constructor(options: SimulatorOptions, noFaults: Faulty) {
    const { clock, services = demoServices(), seed = 1, refreshMs = 60_000 } = options;
    // The clock of a test may be earlier than the usual origin.
    const originMs = Math.min(ORIGIN_MS, clock.nowMs() - DAY_MS);
    this.world = new World({ services, seed, originMs, refreshMs, proxyLagMs: 2 * refreshMs });
    this.logs = options.logs ?? new GeneratedLogs(services, seed);
    this.key = options.key;
    this.clock = clock;
    this.#noFaults = noFaults;
    this.#faults = noFaults;
    this.#endpoints = [
      [METRICS_PATH, createMetricsEndpoint(this.world)],
      ['/observability/v2/logs', createLogsEndpoint(this.logs)],
      ['/observability/v2/query', createHistoryEndpoint(this.world)],
      ['/backup/v1', createBackupEndpoint(services)],
      ['/copilot/v1', createAgentEndpoint()],
      ['/provisioning/v1', createInventoryEndpoint(this.world)],
    ];
  }

  async listen(options: ListenOptions): Promise<void> {
    this.#server = await listen(options, (...exchange) => this.#handle(...exchange));
  }

  /** The base URL, without a trailing slash. */
  get url(): string {
    return this.#server?.url ?? '';
  }

  get faults(): Faulty {
    return this.#faults;
  }

  setFaults(faults: Partial<Faulty>): void {
    this.#faults = { ...this.#faults, ...faults };
  }

  resetFaults(): void {
    this.#faults = this.#noFaults;
  }

  /** Restarts a server's process now. False if there is no such server. */
  restart(serverName: string): boolean {
    return this.world.restart(serverName, this.nowMs());
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The time by the service's clock. */
  protected nowMs(): number {
    return this.clock.nowMs();
  }

  /** Answers a request to the service. */
  protected async reply(request: EndpointRequest, response: ServerResponse): Promise<void> {
    const faults = this.takeFaults(request);
    const failure = faults === null ? null : failureOf(faults, request);
    send(response, failure ?? this.serve(request), request.nowMs);
  }

  /** The faults that this request has, or null. Counts it. */
  protected takeFaults({ path, method }: EndpointRequest): Faulty | null {
    const faults = this.#faults;
    if (!path.startsWith(faults.path) || faults.times === 0) return null;
    if (faults.method !== null && faults.method !== method) return null;
    if (faults.times !== null) this.#faults = { ...faults, times: faults.times - 1 };
    return faults;
  }

  /** The answer of the service when nothing fails. */
  protected serve(request: EndpointRequest): Answer {
    if (request.headers['x-api-key'] !== this.key) {
      const message = 'API key is missing or invalid';
      if (request.path.startsWith(AGENT_PATH)) return detailAnswer(401, ['header'], message);
      return errorAnswer(this.refusalStatus, message, request);
    }
    for (const [path, endpoint] of this.#endpoints) {
      const isBelow = request.path === path || request.path.startsWith(`${path}/`);
      if (!isBelow) continue;
      const answer = endpoint({ ...request, path: request.path.slice(path.length) });
      if (answer !== null) return answer;
    }
    return errorAnswer(404, `No ${request.method} at this path`, request);
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = incoming;
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const body = await readBody(incoming, BODY_BYTES_MAX);
    if (body.kind === 'broken') return void response.destroy();
    const nowMs = this.nowMs();
    const request: EndpointRequest = {
      method,
      url,
      path: pathname.replace(/\/$/u, ''),
      query: searchParams,
      headers,
      json: body.kind === 'whole' ? parseJson(body.bytes.toString()) : undefined,
      nowMs,
    };
    if (pathname === CONTROL_PATH) return send(response, this.#control(incoming, request), nowMs);
    this.requests.add(url);
    if (body.kind === 'whole') return await this.reply(request, response);
    send(response, errorAnswer(413, 'Body too long', request), nowMs);
  }

  /** Executes a command as a whole, or not at all if any part but the name of a server is invalid. */
  #control(incoming: IncomingMessage, request: EndpointRequest): Answer {
    const peer = (incoming.socket.remoteAddress ?? '').replace(/^::ffff:/u, '');
    if (!isLoopbackHost(peer)) return errorAnswer(403, 'Only from this machine', request);
    if (request.method === 'POST') {
      const { success, data, error } = COMMAND.safeParse(request.json);
      const mistakes = error?.issues.map(({ path, message }) => [...path, message].join(': '));
      if (!success) return jsonAnswer(400, { problems: mistakes });
      if (data.reset === true) this.resetFaults();
      const given = Object.entries(data.faults ?? {}).filter(([, value]) => value !== undefined);
      this.#faults = { ...this.#faults, ...Object.fromEntries(given) };
      this.world.stopped = data.stopped ?? this.world.stopped;
      this.world.maintained = data.maintenance ?? this.world.maintained;
      const unknown = data.restart?.filter(name => !this.restart(name)) ?? [];
      const problems = unknown.map(name => `no server named ${name}`);
      if (problems.length > 0) return jsonAnswer(404, { problems });
    } else if (request.method !== 'GET')
      return jsonAnswer(405, { problems: ['only GET and POST are known here'] });
    const { services, series } = this.world;
    return jsonAnswer(200, {
      services: services.map(({ servers, ...service }) => ({
        ...service,
        servers: servers.map(server => server.name),
      })),
      series: series.length,
      requests: this.requests.count,
      requestsByPath: Object.fromEntries(this.requests.countByPath),
      faults: this.#faults,
      stopped: this.world.stopped,
      maintenance: this.world.maintained,
    });
  }
}

/** The answer that these faults give in place of the service's, or null. */
export function failureOf({ status, retryAfter }: Faults, request: EndpointRequest): Answer | null {
  if (status === null) return null;
  const answer = errorAnswer(status, 'Simulated failure', request);
  if (retryAfter === null) return answer;
  return { ...answer, headers: { ...answer.headers, 'retry-after': retryAfter } };
}

function send(response: ServerResponse, { status, headers, body }: Answer, nowMs: number): void {
  const date = new Date(nowMs).toUTCString();
  response.writeHead(status, { date, ...headers, 'content-length': body.length }).end(body);
}

// What /_control may ask of the simulated service at run time: failures, and restarts of servers. The simulator answers
// /_control on its own server, to loopback clients only: GET shows the services, the faults and the requests so far; POST
// sets faults, restarts servers, and says which services (by id) are stopped or in maintenance. Keys are never shown.
//
//   {"reset": true, "faults": {"status": 503, "times": 2}, "restart": ["orders-0"], "stopped": ["dbpgf10000001"]}

export const METRICS_PATH = '/observability/v2/metrics';

/** How answers fail: only those to requests whose path begins with `path`, and with this `method` if there is one. */
export interface Faults {
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | null;
  /** How many more requests have the faults; null: all until the faults change. */
  readonly times: number | null;
  /** Answer with this status and an error body, and with this Retry-After header. */
  readonly status: number | null;
  readonly retryAfter: string | null;
}

export const NO_FAULTS: Faults = {
  path: METRICS_PATH,
  method: null,
  times: null,
  status: null,
  retryAfter: null,
};

const RETRY_AFTER = z
  .string()
  .max(200)
  .regex(/^[\t -~]*$/u);

const COMMAND = z
  .strictObject({
    reset: z.boolean(),
    faults: z
      .strictObject({
        path: z.string().startsWith('/'),
        method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']).nullable(),
        times: z.int().min(1).max(1_000_000_000).nullable(),
        status: z.int().min(200).max(599).nullable(),
        retryAfter: RETRY_AFTER.nullable(),
      })
      .partial(),
    restart: z.array(z.string()).max(10_000),
    stopped: z.array(z.string()).max(10_000),
    maintenance: z.array(z.string()).max(10_000),
  })
  .partial();
