// Serves generated pages at several addresses with one port: 127.1.0.1, 127.1.0.2 and so on. Each address has one page,
// and every answer is a new version of it. For scenarios with logs there is the simulator's endpoint, for one service.

import { withoutInventory } from './without-inventory.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '../src/simulator/answer.ts';
import { GeneratedLogs } from '../src/simulator/log-source.ts';
import { createLogsEndpoint } from '../src/simulator/logs-endpoint.ts';
import { listen, type LoopbackServer } from '../src/simulator/loopback-server.ts';
import { pageOf, servicesOf } from './corpus/corpora.ts';
import { PageSource } from './corpus/page-source.ts';
import type { SeriesSet } from './corpus/series-set.ts';
import type { Scenario } from './scenarios.ts';

export const API_KEY = 'bench-key';
export const PAGE_PATH = '/observability/v2/metrics';
const LOGS_PATH = '/observability/v2/logs';
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const SEED = 7;

/** 127.1.0.1, 127.1.0.2 and so on. */
export function loopbackHost(index: number): string {
  const number = index + 1;
  return `127.1.${number >> 8}.${number & 0xff}`;
}

export class PageServer implements AsyncDisposable {
  /** Refuses every page while it is set. */
  isPaused = false;
  readonly origins: string[] = [];
  readonly samplesPerPage: number;
  /** By address: the pages that were sent to their end. */
  readonly polls: number[];
  lastPollMs = 0;
  readonly #sources: readonly PageSource[];
  /** By address: ends with its last answer, since the samples of one page are counted before the next is made. */
  readonly #tails: Promise<void>[];
  readonly #servers: LoopbackServer[] = [];
  readonly #logs: Endpoint | null;
  #lastTimeMs = 0;

  private constructor(scenario: Scenario) {
    const addresses = Array.from({ length: scenario.addresses }, (_, address) => address);
    this.#sources = addresses.map(address => new PageSource(pageOf(scenario, address)));
    this.#tails = addresses.map(() => Promise.resolve());
    this.polls = addresses.map(() => 0);
    this.samplesPerPage = this.#sources[0]?.sampleCount ?? 0;
    const isLogged = scenario.hasLogs;
    this.#logs = isLogged
      ? createLogsEndpoint(new GeneratedLogs(servicesOf(scenario, 0), SEED))
      : null;
  }

  static async start(scenario: Scenario): Promise<PageServer> {
    const pages = new PageServer(scenario);
    let port = 0;
    for (const [address, source] of pages.#sources.entries()) {
      const host = loopbackHost(address);
      const serve = withoutInventory((request, response) => {
        if (pages.#answerLogs(request, response)) return;
        const answer = (): Promise<void> => pages.#answer(address, source, request, response);
        pages.#tails[address] = (pages.#tails[address] ?? Promise.resolve()).then(answer);
      });
      const server = await listen({ host, port }, serve);
      server.server.keepAliveTimeout = 120_000;
      ({ port } = server);
      pages.#servers.push(server);
      pages.origins.push(server.url);
    }
    return pages;
  }

  get samples(): number {
    return this.samplesPerPage * this.polls.reduce((sum, polls) => sum + polls, 0);
  }

  /** The series of all pages, with the samples that were served. Resolves when all answers that have begun are over. */
  async served(): Promise<SeriesSet> {
    await Promise.all(this.#tails);
    const served: SeriesSet = new Map();
    for (const source of this.#sources) source.addServed(served);
    return served;
  }

  async #answer(
    address: number,
    source: PageSource,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const isPage = request.url === PAGE_PATH && request.headers['x-api-key'] === API_KEY;
    if (!isPage || this.isPaused) {
      response.writeHead(isPage ? 503 : 404, { 'content-length': 0 }).end();
      return;
    }
    const timeMs = Math.max(Date.now(), this.#lastTimeMs + 1);
    this.#lastTimeMs = timeMs;
    const page = source.render(timeMs);
    const headers = { 'content-type': CONTENT_TYPE, 'content-length': page.length };
    const isOver = new Promise(resolve => response.once('close', resolve));
    response.writeHead(200, headers).end(page);
    await isOver;
    // A page that the client gave up does not count.
    if (!response.writableFinished) return;
    source.count();
    this.polls[address] = (this.polls[address] ?? 0) + 1;
    this.lastPollMs = timeMs;
  }

  #answerLogs(request: IncomingMessage, response: ServerResponse): boolean {
    const url = new URL(request.url ?? '', 'http://localhost');
    if (this.#logs === null || !url.pathname.startsWith(LOGS_PATH)) return false;
    const answer = this.#logs({
      method: request.method ?? '',
      url: request.url ?? '',
      path: url.pathname.slice(LOGS_PATH.length).replace(/\/$/, ''),
      query: url.searchParams,
      headers: request.headers,
      json: undefined,
      nowMs: Date.now(),
    });
    if (answer === null) response.writeHead(404, { 'content-length': 0 }).end();
    else response.writeHead(answer.status, answer.headers).end(answer.body);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map(server => server.close()));
  }
}
