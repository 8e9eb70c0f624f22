// Lets the daemon send pages to a back end. A page server for each source serves one page after the other, and then
// repeats the last one. A daemon polls them every second until the back end has everything.

import { until } from '../../support/program.ts';
import { startPageServer, type PageServerRunning, type Sequence } from '../parts/page-server.ts';
import { configureBridge, startBridge } from '../support/bridge.ts';
import { Parts } from '../support/part.ts';

export interface PageSource {
  /** Ids of the services on its pages. */
  readonly services: readonly string[];
  readonly pages: readonly string[];
}

const PATIENCE_MS = 60_000;

export interface BridgeTask {
  readonly sources: readonly PageSource[];
  /** The value of `otlp.metrics_endpoint`. */
  readonly otlpUrl: string;
  /** Changes to the section `metrics`. */
  readonly metrics?: Readonly<Record<string, unknown>>;
  /** Called repeatedly once all pages have been served. */
  readonly hasArrived: () => Promise<boolean>;
}

/** Runs a daemon from the first page to the arrival of the last. */
export async function bridgePages(task: BridgeTask): Promise<void> {
  const { sources, otlpUrl, metrics = {}, hasArrived } = task;
  await using parts = new Parts();
  const servers: PageServerRunning[] = [];
  for (const { pages } of sources)
    servers.push(parts.keep(await startPageServer([sequenceOf(pages)])));
  const services = sources.flatMap(({ services: ids }, index) => {
    const server = servers[index];
    const url = `http://127.0.0.1:${server?.port ?? 0}`;
    return ids.map(id => ({ id, name: id, front: { url, pages: server?.answers(NAME) ?? [] } }));
  });
  const file = await configureBridge({
    services,
    otlp: { metrics_endpoint: otlpUrl },
    metrics: { interval: '1s', path: `/${NAME}`, stale_after: '2s', ...metrics },
  });
  parts.keep(await startBridge(file, services));
  await until('all pages are served', () => isServed(sources, servers), PATIENCE_MS);
  await until('all has arrived', hasArrived, PATIENCE_MS);
}

const NAME = 'metrics';

function sequenceOf(pages: readonly string[]): Sequence {
  return { name: NAME, steps: pages.map(template => ({ kind: 'page', template })) };
}

/** The request after the last page proves that the daemon has the last page. */
function isServed(sources: readonly PageSource[], servers: readonly PageServerRunning[]): boolean {
  return servers.every(
    (server, index) => server.answers(NAME).length > (sources[index]?.pages.length ?? 0),
  );
}
