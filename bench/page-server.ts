// Serves generated pages from a separate process, at several addresses with one port: 127.1.0.1, 127.1.0.2 and so on.
// Each address has one page, and every answer is a new version of that page. The tallies of the answers are kept until
// the bench takes them. Commands come from the parent; see child.ts.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { listen, type LoopbackServer } from '../src/simulator/loopback-server.ts';
import { TEST_TLS } from '../test/support/certificates.ts';
import { answerParent } from './child.ts';
import type { Tally } from './corpus/checksum.ts';
import { type CorpusSpec, pageOf } from './corpus/corpora.ts';
import { PageSource, type RenderedPage } from './corpus/page-source.ts';
import { type AnswerLogs, createLogServer } from './log-server.ts';

export interface PageServerOptions extends CorpusSpec {
  /** Serves pages over TLS and compressed; for `localhost` and one address only. */
  readonly isRemote?: boolean;
  /** Serves logs, too; for one service only. */
  readonly hasLogs?: boolean;
}

export interface PageServerAddress {
  /** Origins, one for each address. */
  readonly origins: readonly string[];
  readonly samplesPerPage: number;
}

/** One answer that was sent to its end. */
export interface Poll {
  readonly address: number;
  /** The timestamp of all its samples where they have one. */
  readonly timeMs: number;
  readonly tally: Tally;
  readonly followed: readonly (readonly [string, number])[];
}

export const API_KEY = 'bench-key';
export const PAGE_PATH = '/observability/v2/metrics';
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const gzipAsync = promisify(gzip);

/** 127.1.0.1, 127.1.0.2 and so on. */
export function loopbackHost(index: number): string {
  const number = index + 1;
  return `127.1.${number >> 8}.${number & 0xff}`;
}

/** The state of one address. Its page is patched in place, so `tail` makes one answer wait for the other. */
interface Address {
  readonly source: PageSource;
  tail: Promise<void>;
  lastTimeMs: number;
}

class PageServer {
  readonly #options: PageServerOptions;
  readonly #addresses: readonly Address[];
  readonly #polls: Poll[] = [];
  #isPaused = false;
  readonly #answerLogs: AnswerLogs;

  constructor(options: PageServerOptions) {
    this.#options = options;
    this.#answerLogs = options.hasLogs === true ? createLogServer() : () => false;
    this.#addresses = Array.from({ length: options.addresses }, (_, address) => ({
      source: new PageSource(pageOf(options, address)),
      tail: Promise.resolve(),
      lastTimeMs: 0,
    }));
  }

  async listen(): Promise<PageServerAddress> {
    const { isRemote = false } = this.#options;
    let port = 0;
    const origins: string[] = [];
    for (const index of this.#addresses.keys()) {
      const host = isRemote ? 'localhost' : loopbackHost(index);
      ({ port } = await this.#serve(index, host, port));
      origins.push(`${isRemote ? 'https' : 'http'}://${host}:${port}`);
    }
    return { origins, samplesPerPage: this.#addresses[0]?.source.sampleCount ?? 0 };
  }

  /** Returns the polls that were served since the last call. */
  takeServed(): readonly Poll[] {
    return this.#polls.splice(0);
  }

  /** Begins or stops to refuse every request. Resolves when all answers that have begun are over. */
  async pause(isPaused: boolean): Promise<void> {
    this.#isPaused = isPaused;
    await Promise.all(this.#addresses.map(({ tail }) => tail));
  }

  async #serve(index: number, host: string, port: number): Promise<LoopbackServer> {
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      const address = this.#addresses[index];
      if (address === undefined || this.#answerLogs(request, response)) return;
      address.tail = address.tail.then(() => this.#answer(index, address, { request, response }));
    };
    const tls = this.#options.isRemote === true ? { tls: TEST_TLS } : {};
    const listening = await listen({ host, port, ...tls }, handle);
    listening.server.keepAliveTimeout = 120_000;
    return listening;
  }

  async #answer(
    index: number,
    address: Address,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> {
    const isPage = request.url === PAGE_PATH && request.headers['x-api-key'] === API_KEY;
    if (!isPage || this.#isPaused) {
      response.writeHead(isPage ? 503 : 404, { 'content-length': 0 }).end();
      return;
    }
    const timeMs = Math.max(Date.now(), address.lastTimeMs + 1);
    address.lastTimeMs = timeMs;
    const page = address.source.render(timeMs);
    // The bridge asks its own machine for uncompressed pages. Ignores that: this server stands for another machine.
    const isPacked =
      this.#options.isRemote === true && request.headers['accept-encoding'] !== undefined;
    const body = isPacked ? await gzipAsync(page.bytes, { level: 6 }) : page.bytes;
    response.writeHead(200, {
      'content-type': CONTENT_TYPE,
      'content-length': body.length,
      ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
    });
    await this.#send(index, page, { response, body });
  }

  /** Notes the page once it is sent to its end; a page that the client gave up does not count. */
  #send(
    address: number,
    page: RenderedPage,
    { response, body }: { response: ServerResponse; body: Buffer },
  ): Promise<void> {
    return new Promise(resolve => {
      response.on('close', () => {
        if (response.writableFinished) {
          const { timeMs, tally, followed } = page;
          this.#polls.push({ address, timeMs, tally, followed });
        }
        resolve();
      });
      response.end(body);
    });
  }
}

let server: PageServer | null = null;

export type PageServerCalls = {
  readonly start: (options: PageServerOptions) => Promise<PageServerAddress>;
  readonly take: () => readonly Poll[];
  readonly pause: (isPaused: boolean) => Promise<void>;
};

function started(): PageServer {
  if (server === null) throw new Error('the page server has not been started');
  return server;
}

if (import.meta.main)
  answerParent({
    start: (options: PageServerOptions) => {
      server = new PageServer(options);
      return server.listen();
    },
    take: () => started().takeServed(),
    pause: (isPaused: boolean) => started().pause(isPaused),
  } satisfies PageServerCalls);
