// What a real Collector's Prometheus receiver makes of page sequences: it scrapes all of them side by side, one job
// each, and every scrape is one request in its file.

import { readFile } from 'node:fs/promises';
import type { MetricsRequestJson } from '../../../src/pipeline/encode/otlp-fields.ts';
import { collector, type CollectorPorts } from '../parts/collector.ts';
import { type Answered, startPageServer } from '../parts/page-server.ts';
import { type ComparablePoint, comparablePoints } from './comparable-points.ts';
import { until } from '../support/process.ts';
import type { Sequence } from './sequences.ts';

/** One step of a sequence, as the receiver met it. */
export interface ReceiverScrape {
  readonly answer: Answered;
  /** When the scrape started. */
  readonly timeMs: number;
  readonly points: readonly ComparablePoint[];
}

export interface ReceiverScrapes {
  /** Where the pages came from, as `host:port`. */
  readonly instance: string;
  readonly bySequence: ReadonlyMap<string, readonly ReceiverScrape[]>;
}

/** A step may hang until the scrape has timed out, which it does after the interval. */
const INTERVAL_SECONDS = 1;
const PATIENCE_MS = 60_000;

/** Runs all sequences to their end. */
export async function scrapeWithReceiver(sequences: readonly Sequence[]): Promise<ReceiverScrapes> {
  const server = await startPageServer(sequences);
  const instance = `127.0.0.1:${server.port}`;
  try {
    const running = await collector.start({
      config: (ports, output) => receiverConfig(sequences, instance, ports, output),
    });
    // The scrape after the last step proves that the one before it is complete.
    const isDone = ({ name, steps }: Sequence): boolean =>
      server.answers(name).length > steps.length;
    try {
      await until(() => sequences.every(isDone), PATIENCE_MS);
    } finally {
      await running.stop();
    }
    const requests = await readRequests(running.output);
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
  } finally {
    await server.stop();
  }
}

function receiverConfig(
  sequences: readonly Sequence[],
  instance: string,
  ports: CollectorPorts,
  output: string,
): string {
  const jobs = sequences.map(({ name, scrape }) => ({
    job_name: name,
    metrics_path: `/${name}`,
    static_configs: [{ targets: [instance] }],
    ...scrape,
  }));
  const interval = `${INTERVAL_SECONDS}s`;
  const config = {
    receivers: {
      otlp: {
        protocols: {
          http: { endpoint: `127.0.0.1:${ports.http}` },
          grpc: { endpoint: `127.0.0.1:${ports.grpc}` },
        },
      },
      prometheus: {
        discovery_reload_on_startup: true,
        config: {
          global: { scrape_interval: interval, scrape_timeout: interval },
          scrape_configs: jobs,
        },
      },
    },
    exporters: { file: { path: output, flush_interval: '100ms' } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { metrics: { receivers: ['otlp', 'prometheus'], exporters: ['file'] } },
    },
  };
  return JSON.stringify(config);
}

/** The points of every scrape, by job; one scrape is one request. */
async function readRequests(file: string): Promise<Map<string, ComparablePoint[][]>> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter(line => line !== '');
  const scrapes = lines.map(line => comparablePoints(JSON.parse(line) as MetricsRequestJson));
  return Map.groupBy(scrapes, points => jobOf(points));
}

/** `up` alone is surely of the job itself: labels of the page can say otherwise of any other series. */
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
