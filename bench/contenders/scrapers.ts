// The programs that others use for the same task: vmagent and a Prometheus agent, which send remote write, and the
// official Collector with its Prometheus receiver, which sends OTLP. Each has its defaults and honors timestamps.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { collector } from '../../test/real/parts/collector.ts';
import { prometheus, releasedVersion } from '../../test/real/parts/prometheus.ts';
import { vmagent } from '../../test/real/parts/vmagent.ts';
import { exclusively, realFolder } from '../../test/real/support/folder.ts';
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
      // The fleet's page is larger than the 16 MiB that vmagent accepts by default.
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
  start: task => {
    const remoteWrite = `remote_write: [{url: ${task.sinkUrl}/api/v1/write}]\n`;
    return prometheus.start({ isAgent: true, config: `${prometheusJobs(task)}${remoteWrite}` });
  },
};

export const collectorContender: Contender = {
  name: 'collector',
  title: 'OpenTelemetry Collector',
  isRounded: false,
  prepare: () => prepare(collector, 'otelcol'),
  start: task =>
    collector.start({
      configure: config => {
        config.receivers.prometheus = { config: parse(prometheusJobs(task)) };
        const otlphttp = { endpoint: task.sinkUrl, timeout: '30s' };
        config.exporters = { ...config.exporters, otlphttp };
        const metrics = { receivers: ['prometheus'], exporters: ['otlphttp'] };
        config.service.pipelines = { ...config.service.pipelines, metrics };
      },
    }),
};

function prometheusJobs(task: Task): string {
  const headers = `    http_headers: {X-API-Key: {values: [${API_KEY}]}}`;
  return `scrape_configs:${scrapeJobs(task, headers)}`;
}

/** Uses only parts that `npm run test:parts` has built or downloaded: doing that here would take minutes. */
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
