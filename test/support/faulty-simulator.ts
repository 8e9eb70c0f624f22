// The simulated service with everything that may go wrong on its way to a test: answers that are replaced, cut, slow or
// missing (faulty-delivery.ts), a wrong clock, broken pages and archives, and the other behaviours that the specification
// leaves open. Without faults it is the simulator of src/simulator. It also keeps the latest requests with their headers,
// so that a test can check where a key was sent.

import type { ServerResponse } from 'node:http';
import {
  type Answer,
  emptyAnswer,
  type EndpointRequest,
  errorAnswer,
} from '../../src/simulator/answer.ts';
import {
  type Faults as Failure,
  NO_FAULTS as NO_FAILURE,
  failureOf,
  Simulator,
  type SimulatorOptions,
} from '../../src/simulator/simulator.ts';
import { deliver, type DeliveryFaults, NO_DELIVERY_FAULTS } from './faulty-delivery.ts';
import { faultyLogs, NO_LOG_FAULTS, type LogFaults } from './faulty-logs.ts';
import { alteredJson, isRecord } from './altered-json.ts';

export interface Faults extends Failure, DeliveryFaults, LogFaults {
  // Faults of any answer, for the requests that `path`, `method` and `times` allow.
  /** Redirect there; `same-origin` leads to an address of the simulator that answers normally. */
  readonly redirectTo: string | null;
  /** How far the service's clock, Date header and samples alike, is ahead of the test's. */
  readonly clockSkewMs: number;

  // Faults of the metrics page.
  /** How many broken lines precede the first sample of each service id. */
  readonly badLines: Readonly<Record<string, number>>;
  readonly absentServices: readonly string[];

  // Backups and the agent: other behaviour where the specification leaves a choice.
  /** Whether lists of backups come wrapped and in pages, or bare. */
  readonly listShape: 'wrapped' | 'bare';
  readonly isServiceIdRequired: boolean;
  readonly createdBody: 'object' | 'empty' | 'text';
  /** The shape of a chat's answer; `nested` carries the failure of the agent, if there is one. */
  readonly chatShape: 'plain' | 'nested';
  readonly chatError: string | null;
  /** The key of `config` whose filters count; the specification spells it in both ways. */
  readonly filterKey: 'table_filters' | 'table_filter';
  /** A path of the agent without a trailing slash is redirected to the one with it. */
  readonly isSlashRequired: boolean;
}

const NO_FAULTS: Faults = {
  ...NO_FAILURE,
  ...NO_DELIVERY_FAULTS,
  ...NO_LOG_FAULTS,
  redirectTo: null,
  clockSkewMs: 0,
  badLines: {},
  absentServices: [],
  listShape: 'wrapped',
  isServiceIdRequired: false,
  createdBody: 'object',
  chatShape: 'plain',
  chatError: null,
  filterKey: 'table_filters',
  isSlashRequired: false,
};

/** A path of the simulator that answers without faults, the target of same-origin redirects. */
const MOVED_PATH = '/_moved';
const LATEST_MAX = 1_000;

interface LatestRequest extends Pick<EndpointRequest, 'method' | 'url' | 'headers'> {
  readonly atMs: number;
}

/** Rejects if the port is not available. */
export async function startFaultySimulator(options: SimulatorOptions): Promise<FaultySimulator> {
  const simulator = new FaultySimulator(options);
  await simulator.listen(options);
  return simulator;
}

export class FaultySimulator extends Simulator<Faults> {
  /** The latest requests, at most LATEST_MAX of them, oldest first. */
  readonly latest: LatestRequest[] = [];
  #listCount = 0;

  constructor(options: SimulatorOptions) {
    super(options, NO_FAULTS);
  }

  protected override nowMs(): number {
    return super.nowMs() + this.faults.clockSkewMs;
  }

  protected override async reply(
    request: EndpointRequest,
    response: ServerResponse,
  ): Promise<void> {
    const { clock } = this;
    const { method, url, headers, path, nowMs } = request;
    this.latest.push({ method, url, headers, atMs: clock.nowMs() });
    if (this.latest.length > LATEST_MAX) this.latest.shift();
    const isMoved = path.startsWith(`${MOVED_PATH}/`);
    const asked = isMoved ? { ...request, path: path.slice(MOVED_PATH.length) } : request;
    const faults = (isMoved ? null : this.takeFaults(asked)) ?? NO_FAULTS;
    const { redirectTo } = faults;
    const location = redirectTo === 'same-origin' ? `${MOVED_PATH}${url}` : redirectTo;
    const answer =
      location === null
        ? (failureOf(faults, asked) ?? this.serve(asked))
        : emptyAnswer(307, { location });
    await deliver({ response, answer, faults, clock, nowMs });
  }

  protected override serve(request: EndpointRequest): Answer {
    const { path, headers } = request;
    if (headers['x-api-key'] !== this.key) return super.serve(request);
    if (path.startsWith('/observability/v2/logs')) return this.#serveLogs(request);
    if (path.startsWith('/backup/v1')) return this.#serveBackups(request);
    if (path.startsWith('/copilot/')) return this.#serveAgent(request);
    const answer = super.serve(request);
    if (answer.status !== 200) return answer;
    return { ...answer, body: Buffer.from(alteredPage(answer.body.toString(), this.faults)) };
  }

  #serveLogs(request: EndpointRequest): Answer {
    const { faults, logs } = this;
    if (request.path.endsWith('/logs')) this.#listCount++;
    const isOdd = this.#listCount % 2 === 1;
    return faultyLogs({ request, faults, logs, isOdd }, asked => super.serve(asked));
  }

  #serveBackups(request: EndpointRequest): Answer {
    const { listShape, createdBody, isServiceIdRequired } = this.faults;
    const { method, path, query } = request;
    const isSchedules = method === 'GET' && path.endsWith('/schedules');
    if (isServiceIdRequired && isSchedules && !query.has('service_id'))
      return errorAnswer(400, 'service_id is required', request);
    if (listShape === 'bare' && method === 'GET') {
      const whole = new URLSearchParams({
        ...Object.fromEntries(query),
        page_size: '200',
        page: '1',
      });
      return alteredJson(super.serve({ ...request, query: whole }), value =>
        isRecord(value) ? (Object.values(value).find(Array.isArray) ?? value) : value,
      );
    }
    const answer = super.serve(request);
    if (answer.status !== 201 || createdBody === 'object') return answer;
    return { ...emptyAnswer(201), body: Buffer.from(createdBody === 'empty' ? '' : 'OK') };
  }

  #serveAgent(request: EndpointRequest): Answer {
    const { isSlashRequired, filterKey, chatShape, chatError } = this.faults;
    const { path, url, json } = request;
    if (isSlashRequired && !/^[^?]*\/(?:\?|$)/u.test(url))
      return emptyAnswer(307, { location: `${path}/` });
    const answer = super.serve({ ...request, json: withFilters(json, filterKey) });
    if (chatShape === 'plain' || !path.endsWith('/chat') || answer.status !== 200) return answer;
    return alteredJson(answer, value => {
      const { response, sql = null, data, ...session } = isRecord(value) ? value : {};
      const col_keys = Array.isArray(data) ? Object.keys(data[0]) : [];
      const content = chatError === null ? response : null;
      const nested = { content, sql_text: sql, error_text: chatError, col_keys };
      return { prompt: isRecord(json) ? json['prompt'] : null, response: nested, ...session };
    });
  }
}

/** The body of a chat, with the filters of this key where the simulator looks for them. */
function withFilters(json: unknown, key: Faults['filterKey']): unknown {
  if (key === 'table_filters' || !isRecord(json) || !isRecord(json['config'])) return json;
  return { ...json, config: { table_filters: json['config'][key] } };
}

function alteredPage(text: string, { badLines, absentServices }: Faults): string {
  const isAbsent = (line: string): boolean =>
    absentServices.some(id => line.includes(`namespace="${id}"`));
  const lines = text.split('\n').filter(line => !isAbsent(line));
  for (const [id, count] of Object.entries(badLines)) {
    const first = lines.findIndex(line => line.includes(`namespace="${id}"`));
    // A decimal comma: the line names its service, but has no value.
    const bad = lines[first]?.replace(/\} .*$/u, '} 12,5');
    if (bad !== undefined) lines.splice(first, 0, ...Array.from({ length: count }, () => bad));
  }
  return lines.join('\n');
}
