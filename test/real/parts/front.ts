// Serves an exporter's page to the bridge as the service's API does: requires the key, may compress, and does not
// change the page. Keeps every served page, so that a test can compare it with the points that arrive, and can
// freeze a page. Runs inside the test's own process.

import { withoutInventory } from '../../../bench/without-inventory.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { listen } from '../../../src/simulator/loopback-server.ts';
import type { Running } from '../support/part.ts';

export interface FrontOptions {
  /** The address of the exporter's page. */
  readonly exporterUrl: string;
  /** The required value of X-API-Key; without it the answer is 400. */
  readonly key: string;
  /** Compresses the answer when the client takes gzip; default false. */
  readonly isGzipped?: boolean;
}

export interface ServedPage {
  readonly body: string;
}

export interface FrontRunning extends Running {
  /** Origin without a path, as `api.base_url` takes it. The page is at `/observability/v2/metrics`. */
  readonly url: string;
  /** Every good answer, oldest first. */
  readonly pages: readonly ServedPage[];
  /** Requests that could not be answered because the exporter did not. */
  readonly failures: () => number;
  /** From the next request on, serves the same page until thaw(). */
  freeze(): void;
  thaw(): void;
}

const PATH = '/observability/v2/metrics';
/** Limits the memory of a long run: no test needs more pages. */
const PAGES_KEPT = 1000;

export async function startFront(options: FrontOptions): Promise<FrontRunning> {
  const pages: ServedPage[] = [];
  let failed = 0;
  let isFrozen = false;
  let held: { body: string; type: string } | null = null;

  async function page(request: IncomingMessage): Promise<{ body: string; type: string }> {
    if (isFrozen && held !== null) return held;
    const accept = request.headers.accept ?? '*/*';
    const answer = await fetch(options.exporterUrl, { headers: { accept } });
    const type = answer.headers.get('content-type') ?? 'text/plain';
    held = { body: await answer.text(), type };
    return held;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers['x-api-key'] !== options.key) {
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"no key"}');
    } else if (new URL(request.url ?? '/', 'http://front').pathname !== PATH) {
      response.writeHead(404).end();
    } else {
      const { body, type } = await page(request);
      if (pages.length < PAGES_KEPT) pages.push({ body });
      const takesGzip = String(request.headers['accept-encoding']).includes('gzip');
      if (options.isGzipped === true && takesGzip) {
        response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' });
        response.end(gzipSync(body));
      } else {
        response.writeHead(200, { 'content-type': type }).end(body);
      }
    }
  }

  const answer = withoutInventory((request, response) =>
    serve(request, response).catch((error: unknown) => {
      failed++;
      throw error;
    }),
  );
  const { url, close } = await listen({}, answer);
  return {
    url,
    pages,
    failures: () => failed,
    freeze: () => {
      isFrozen = true;
    },
    thaw: () => {
      isFrozen = false;
    },
    stop: close,
  };
}
