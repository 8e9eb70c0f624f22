// Lets a real Collector's Prometheus receiver scrape page sequences: all of them side by side, with one job each. Every
// scrape is one request in the Collector's file.

import { until } from '../../support/program.ts';
import { alsoScrape, collector, readRequests } from '../parts/collector.ts';
import { type Answered, startPageServer } from '../parts/page-server.ts';
import { type ComparablePoint, comparablePoints } from './comparable-points.ts';
import { Parts } from '../support/part.ts';
import type { Sequence } from './sequences.ts';

/** One step of a sequence, with the receiver's points. */
export interface ReceiverScrape {
  readonly answer: Answered;
  /** When the scrape started. */
  readonly timeMs: number;
  readonly points: readonly ComparablePoint[];
}

export interface ReceiverScrapes {
  /** The address of the pages, as `host:port`. */
  readonly instance: string;
  readonly bySequence: ReadonlyMap<string, readonly ReceiverScrape[]>;
}

/** The interval is also the timeout of a scrape, which a step may wait for. */
const INTERVAL_SECONDS = 1;
const PATIENCE_MS = 60_000;

/** Runs all sequences to their end. */
export async function scrapeWithReceiver(sequences: readonly Sequence[]): Promise<ReceiverScrapes> {
  await using parts = new Parts();
  const server = parts.keep(await startPageServer(sequences));
  const instance = `127.0.0.1:${server.port}`;
  const running = parts.keep(
    await collector.start({
      configure: config => alsoScrape(config, receiverConfig(sequences, instance)),
    }),
  );
  // The scrape after the last step proves that the scrape of the last step is complete.
  const isDone = ({ name, steps }: Sequence): boolean => server.answers(name).length > steps.length;
  await until('the last step of each', () => sequences.every(isDone), PATIENCE_MS);
  await running.stop();
  const requests = await readScrapes(running.output);
  const bySequence = new Map(
    sequences.map(({ name, steps }) => [
      name,
      (requests.get(name) ?? []).slice(0, steps.length).map((points, step) => ({
        answer: server.answers(name)[step] ?? { kind: 'failure' },
        timeMs: scrapeTimeMs(points),
        points,
      })),
    ]),
  );
  return { instance, bySequence };
}

function receiverConfig(sequences: readonly Sequence[], instance: string): object {
  const interval = `${INTERVAL_SECONDS}s`;
  const scrape_configs = sequences.map(({ name, scrape }) => ({
    job_name: name,
    metrics_path: `/${name}`,
    static_configs: [{ targets: [instance] }],
    ...scrape,
  }));
  return {
    discovery_reload_on_startup: true,
    config: { global: { scrape_interval: interval, scrape_timeout: interval }, scrape_configs },
  };
}

/** The points of every scrape, by job; one scrape is one request. */
async function readScrapes(file: string): Promise<Map<string, ComparablePoint[][]>> {
  const scrapes = (await readRequests(file)).map(comparablePoints);
  return Map.groupBy(scrapes, points => jobOf(points));
}

/** The receiver's own `up`. Only its Resource surely names the job: labels on a page can change other resources. */
function upOf(points: readonly ComparablePoint[]): ComparablePoint | undefined {
  return points.find(({ metric, attributes }) => metric === 'up' && attributes === '');
}

function jobOf(points: readonly ComparablePoint[]): string {
  const up = upOf(points);
  return /service\.name=\{"stringValue":"([^"]*)"\}/.exec(up?.resource ?? '')?.[1] ?? '';
}

function scrapeTimeMs(points: readonly ComparablePoint[]): number {
  return Number(BigInt(upOf(points)?.timeNs ?? '0') / 1_000_000n);
}
