// Compares strict mode with the Collector's own Prometheus receiver. A real Collector scrapes one captured sequence of a
// real exporter's pages: the database goes down, comes back, and a scrape fails. The bridge gets the same answers at the
// same times, and must make the same points with the same markers.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { MetricsRequestJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { ADDED_SERIES, type OtlpPoint, otlpPoints } from '../support/otlp-points.ts';
import { until } from '../support/program.ts';
import { type Seen, T0, Target } from '../support/target.ts';
import { alsoScrape, collector, readRequests } from './parts/collector.ts';
import { type Answered, startPageServer, type Step } from './parts/page-server.ts';
import { checkoutFolder } from './support/folder.ts';
import { Parts, reasonToSkip } from './support/part.ts';

const noCollector = await reasonToSkip([collector]);

const NAME = 'captured';
const capture = (file: string): Step => ({
  kind: 'page',
  template: readFileSync(join(checkoutFolder, 'test/fixtures/captures', file), 'utf8'),
});
const STEPS: readonly Step[] = [
  capture('engine.prom'),
  capture('engine_dbdown.prom'),
  capture('engine.prom'),
  { kind: 'status', status: 502 },
  capture('engine_replica.prom'),
];

/** One scrape of the receiver: what it was answered, when, and the request that it made. */
interface Scrape {
  readonly answer: Answered;
  readonly timeMs: number;
  readonly request: MetricsRequestJson;
}

describe.skipIf(noCollector !== null)("strict mode and the Collector's receiver", () => {
  let scrapes: readonly Scrape[] = [];

  beforeAll(async () => {
    scrapes = await scrapeWithReceiver();
  });

  test('make the same points of a captured sequence', () => {
    expect(scrapes).toHaveLength(STEPS.length);
    const target = new Target({ services: [NAME], metrics: { mapping: 'strict' } });
    let count = 0;
    for (const scrape of scrapes) {
      const ours = comparable(feed(target, scrape).points);
      const theirs = comparable(otlpPoints(scrape.request));
      expect(ours).toEqual(theirs);
      count += ours.size;
    }
    expect(count).toBeGreaterThan(4000);
  });
});

async function scrapeWithReceiver(): Promise<Scrape[]> {
  await using parts = new Parts();
  const server = parts.keep(await startPageServer([{ name: NAME, steps: STEPS }]));
  const job = {
    job_name: NAME,
    metrics_path: `/${NAME}`,
    static_configs: [{ targets: [`127.0.0.1:${server.port}`] }],
  };
  const global = { scrape_interval: '1s', scrape_timeout: '1s' };
  const receiver = {
    discovery_reload_on_startup: true,
    config: { global, scrape_configs: [job] },
  };
  const running = parts.keep(
    await collector.start({ configure: config => alsoScrape(config, receiver) }),
  );
  // The scrape after the last step proves that the scrape of the last step is complete.
  await until('the last step', () => server.answers(NAME).length > STEPS.length, 60_000);
  await running.stop();
  const requests = await readRequests(running.output);
  return server
    .answers(NAME)
    .slice(0, STEPS.length)
    .map((answer, step) => {
      const request = requests[step] ?? {};
      const up = otlpPoints(request).find(({ metric }) => metric === 'up');
      return { answer, timeMs: Number(BigInt(up?.timeNs ?? '0') / 1_000_000n), request };
    });
}

function feed(target: Target, { answer, timeMs }: Scrape): Seen {
  const seconds = (timeMs - T0) / 1000;
  return answer.kind === 'page' ? target.page(seconds, answer.body) : target.fail(seconds);
}

/** The points by series, in every field but Resource, scope and exemplars. Of a marker, its distribution means nothing. */
function comparable(points: readonly OtlpPoint[]): Map<string, object> {
  const scraped = points.filter(({ metric }) => !ADDED_SERIES.has(metric));
  return new Map(
    scraped.map(point => {
      const distribution = point.flags === 0 ? point.distribution : '';
      const differing = { resource: '', serviceName: '', serviceId: '', scope: '', exemplars: [] };
      return [`${point.metric}{${point.attributes}}`, { ...point, ...differing, distribution }];
    }),
  );
}
