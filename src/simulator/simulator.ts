// A simulation of the service: metrics, logs, backups and agent on a real HTTP server that requires an `X-API-Key`, with
// faults that can be set while it runs. For tests, the demo, and developers without an account. Its numbers are a
// function of seed and clock (world.ts).

import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import { parseJson } from '../lib/json.ts';
import { isLoopbackHost } from '../lib/loopback.ts';
import { createAgentEndpoint } from './agent-endpoint.ts';
import {
  type Answer,
  detailAnswer,
  emptyAnswer,
  type Endpoint,
  type EndpointRequest,
  errorAnswer,
  jsonAnswer,
} from './answer.ts';
import { createBackupEndpoint } from './backup-endpoint.ts';
import { deliver } from './delivery.ts';
import { type Faults, FAULTS_SCHEMA, METRICS_PATH, NO_FAULTS } from './faults.ts';
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
/** The prefix of paths without faults, the target of same-origin redirects. */
const MOVED_PATH = '/_moved';
const AGENT_PATH = '/copilot/';
const BODY_BYTES_MAX = 2 ** 20;
const ORIGIN_MS = Date.UTC(2026, 0, 1);

const COMMAND = z
  .strictObject({
    reset: z.boolean(),
    faults: FAULTS_SCHEMA,
    restart: z.array(z.string()).max(10_000),
  })
  .partial();

/** Rejects if the port is not available. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const simulator = new Simulator(options);
  await simulator.listen(options);
  return simulator;
}

export class Simulator {
  readonly world: World;
  readonly requests: RequestRecord = new RequestRecord();
  /** May be changed, for example to rotate the key. */
  key: string;
  /** The status of the answer to a wrong or missing key; the agent always answers 401. */
  refusalStatus = 400;
  readonly #clock: Clock;
  readonly #endpoints: readonly (readonly [path: string, endpoint: Endpoint])[];
  #faults: Faults = NO_FAULTS;
  #server: LoopbackServer | null = null;

  constructor(options: SimulatorOptions) {
    const { clock, services = demoServices(), seed = 1, refreshMs = 60_000 } = options;
    const { logs = new GeneratedLogs(services, seed) } = options;
    // The clock of a test may be earlier than the usual origin.
    const originMs = Math.min(ORIGIN_MS, clock.nowMs() - DAY_MS);
    this.world = new World({ services, seed, originMs, refreshMs, proxyLagMs: 2 * refreshMs });
    this.key = options.key;
    this.#clock = clock;
    const faults = (): Faults => this.#faults;
    this.#endpoints = [
      [METRICS_PATH, createMetricsEndpoint(this.world, faults)],
      ['/observability/v2/logs', createLogsEndpoint(logs, faults)],
      ['/backup/v1', createBackupEndpoint(services, faults)],
      ['/copilot/v1', createAgentEndpoint(faults)],
    ];
  }

  async listen(options: ListenOptions): Promise<void> {
    this.#server = await listen(options, (...exchange) => this.#handle(...exchange));
  }

  /** The base URL, without a trailing slash. */
  get url(): string {
    return this.#server?.url ?? '';
  }

  get faults(): Faults {
    return this.#faults;
  }

  setFaults(faults: Partial<Faults>): void {
    this.#faults = { ...this.#faults, ...faults };
  }

  resetFaults(): void {
    this.#faults = NO_FAULTS;
  }

  /** Restarts a server's process now. False if there is no such server. */
  restart(serverName: string): boolean {
    return this.world.restart(serverName, this.#nowMs());
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
      json: body.kind === 'whole' ? parseJson(body.bytes.toString()) : undefined,
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
    const { url = '/' } = incoming;
    const { redirectTo } = faults;
    if (redirectTo !== null) {
      const location = redirectTo === 'same-origin' ? `${MOVED_PATH}${url}` : redirectTo;
      return emptyAnswer(307, { location });
    }
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
    if (
      request.path.startsWith(AGENT_PATH) &&
      this.#faults.isSlashRequired &&
      !/^[^?]*\/(?:\?|$)/u.test(url)
    )
      return emptyAnswer(307, { location: `${request.path}/` });
    for (const [path, endpoint] of this.#endpoints) {
      const isBelow = request.path === path || request.path.startsWith(`${path}/`);
      if (!isBelow) continue;
      const answer = endpoint({ ...request, path: request.path.slice(path.length) });
      if (answer !== null) return answer;
    }
    return errorAnswer(404, `No ${request.method} at this path`, request);
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
      this.setFaults(Object.fromEntries(given));
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
    });
  }

  #takeFaults(path: string, method: string): Faults {
    const faults = this.#faults;
    if (!path.startsWith(faults.path) || faults.times === 0) return NO_FAULTS;
    if (faults.method !== null && faults.method !== method) return NO_FAULTS;
    if (faults.times !== null) this.#faults = { ...faults, times: faults.times - 1 };
    return faults;
  }
}
