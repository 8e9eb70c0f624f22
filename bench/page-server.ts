// Serves generated pages from a separate process, at several addresses with one port: 127.1.0.1, 127.1.0.2 and so on.
// Each address has one page, and every answer is a new version of that page. The tallies of the answers are kept until
// the bench takes them. Commands come from the parent; see child.ts.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen, type LoopbackServer } from '../src/simulator/loopback-server.ts';
import { answerParent } from './child.ts';
import type { Tally } from './corpus/checksum.ts';
import { type CorpusSpec, pageOf } from './corpus/corpora.ts';
import { PageSource, type RenderedPage } from './corpus/page-source.ts';
import { type AnswerLogs, createLogServer } from './log-server.ts';

export interface PageServerOptions extends CorpusSpec {
  /** Serves logs, too; for one service only. */
  readonly hasLogs: boolean;
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
}

export const API_KEY = 'bench-key';
export const PAGE_PATH = '/observability/v2/metrics';
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

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
  readonly #addresses: readonly Address[];
  readonly #polls: Poll[] = [];
  #isPaused = false;
  readonly #answerLogs: AnswerLogs;

  constructor(options: PageServerOptions) {
    this.#answerLogs = options.hasLogs ? createLogServer() : () => false;
    this.#addresses = Array.from({ length: options.addresses }, (_, address) => ({
      source: new PageSource(pageOf(options, address)),
      tail: Promise.resolve(),
      lastTimeMs: 0,
    }));
  }

  async listen(): Promise<PageServerAddress> {
    let port = 0;
    const origins: string[] = [];
    for (const index of this.#addresses.keys()) {
      const host = loopbackHost(index);
      ({ port } = await this.#serve(index, host, port));
      origins.push(`http://${host}:${port}`);
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
    const listening = await listen({ host, port }, handle);
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
    response.writeHead(200, {
      'content-type': CONTENT_TYPE,
      'content-length': page.bytes.length,
    });
    await this.#send(index, page, response);
  }

  /** Notes the page once it is sent to its end; a page that the client gave up does not count. */
  #send(address: number, page: RenderedPage, response: ServerResponse): Promise<void> {
    return new Promise(resolve => {
      response.on('close', () => {
        if (response.writableFinished) {
          const { timeMs, tally } = page;
          this.#polls.push({ address, timeMs, tally });
        }
        resolve();
      });
      response.end(page.bytes);
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
