// The programs that others use for the same: vmagent and a Prometheus agent, which send remote write, and the official
// Collector with its Prometheus receiver, which sends OTLP. Each with its defaults, but that timestamps of pages count.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { collector } from '../../test/real/parts/collector.ts';
import { prometheus, releasedVersion } from '../../test/real/parts/prometheus.ts';
import { vmagent } from '../../test/real/parts/vmagent.ts';
import { exclusively, realFolder, runFolder } from '../../test/real/support/folder.ts';
import type { Preparable } from '../../test/real/support/part.ts';
import { API_KEY } from '../page-server.ts';
import { type Contender, scrapeJobs, type Task } from './contender.ts';

export const vmagentContender: Contender = {
  name: 'vmagent',
  title: 'vmagent',
  isRounded: true,
  prepare: () => prepare(vmagent, 'victoria-metrics'),
  start: task =>
    vmagent.start({
      scrapeConfig: `scrape_configs:${scrapeJobs(task, `    headers: ["X-API-Key: ${API_KEY}"]`)}`,
      remoteWriteUrl: `${task.sinkUrl}/api/v1/write`,
      // A page of a fleet is larger than the 16 MiB that it takes at most.
      flags: ['-promscrape.maxScrapeSize=1GiB'],
    }),
};

export const prometheusAgent: Contender = {
  name: 'prometheus-agent',
  title: 'Prometheus agent',
  isRounded: false,
  prepare: async () => {
    const prepared = await prepare(prometheus, 'prometheus');
    return 'absent' in prepared ? prepared : { version: releasedVersion(prepared.version) };
  },
  start: task => prometheus.start({ isAgent: true, config: agentConfig(task) }),
};

export const collectorContender: Contender = {
  name: 'collector',
  title: 'OpenTelemetry Collector',
  isRounded: false,
  prepare: () => prepare(collector, 'otelcol'),
  start: async task => {
    const folder = await runFolder('bench-collector');
    return collector.start({
      config: ports => `
receivers:
  prometheus:
    config:
      scrape_configs:${indented(scrapeJobs(task, prometheusHeaders()), 6)}
  otlp:
    protocols:
      http: {endpoint: "127.0.0.1:${ports.http}"}
      grpc: {endpoint: "127.0.0.1:${ports.grpc}"}
exporters:
  otlphttp: {endpoint: "${task.sinkUrl}", timeout: 30s}
  file: {path: ${JSON.stringify(join(folder, 'unused'))}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [prometheus], exporters: [otlphttp]}
    logs: {receivers: [otlp], exporters: [file]}
`,
    });
  },
};

function agentConfig(task: Task): string {
  return `scrape_configs:${scrapeJobs(task, prometheusHeaders())}
remote_write:
  - url: ${task.sinkUrl}/api/v1/write
`;
}

function prometheusHeaders(): string {
  return `    http_headers: {X-API-Key: {values: [${API_KEY}]}}`;
}

function indented(text: string, spaces: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`);
}

/** Only what `npm run test:parts` has built or downloaded: a bench does not begin with minutes of that. */
async function prepare(
  part: Preparable,
  cacheName: string,
): Promise<{ readonly version: string } | { readonly absent: string }> {
  const parts = join(realFolder, 'parts');
  const names = existsSync(parts) ? readdirSync(parts) : [];
  const isThere = names.some(
    name => name.startsWith(`${cacheName}-`) && existsSync(join(parts, name, '.seconds')),
  );
  if (!isThere) return { absent: 'it is not prepared: npm run test:parts' };
  const prepared = await exclusively(() => part.prepare());
  return 'absent' in prepared ? prepared : { version: prepared.version };
}
