// A real single-node VictoriaMetrics from Debian: an OTLP back end that takes only protobuf, and that can
// be queried for the stored samples.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackDebian } from '../support/debian.ts';
import { readValue } from '../support/exposition.ts';
import { runFolder } from '../support/folder.ts';
import { need, type Part, type Prepared, type Running } from '../support/part.ts';
import { freePort, isUp, startServer } from '../support/process.ts';

export interface VictoriaMetricsOptions {
  /** A Prometheus scrape configuration as YAML, for a comparison with direct scrapes. */
  readonly scrapeConfig?: string;
  /** The path of a file of relabeling rules for everything that arrives. */
  readonly relabelFile?: string;
  /** Translates names and labels as Prometheus does. */
  readonly hasPrometheusNaming?: boolean;
}

export interface StoredSeries {
  /** Labels as stored; the name is `__name__`. */
  readonly metric: Readonly<Record<string, string>>;
  /** NaN for a staleness marker. */
  readonly values: readonly number[];
  readonly timestamps: readonly number[];
}

export interface VictoriaMetricsRunning extends Running {
  readonly pid: number;
  readonly url: string;
  /** The value for `otlp.metrics_endpoint`. */
  readonly otlpUrl: string;
  /** Makes all samples that have arrived visible; otherwise they become visible within seconds, in any order. */
  flush(): Promise<void>;
  /** Everything stored under a selector such as `{__name__!=""}`, including what just arrived. */
  series(selector: string): Promise<StoredSeries[]>;
}

export const victoriaMetrics: Part<VictoriaMetricsOptions, VictoriaMetricsRunning> = {
  name: 'victoria-metrics',
  prepare: () => prepareProgram('victoria-metrics'),
  start: startVictoriaMetrics,
};

/** One of the programs of Debian's package: `victoria-metrics` or `vmagent`. */
export async function prepareProgram(program: string): Promise<Prepared> {
  // Does not use the machine's own release, whose version may be too old for OTLP as protobuf.
  const unpacked = await unpackDebian('victoria-metrics', ['forky']);
  if ('absent' in unpacked) return unpacked;
  return { ...unpacked, path: join(unpacked.path, 'usr/bin', program) };
}

async function startVictoriaMetrics(
  options: VictoriaMetricsOptions,
): Promise<VictoriaMetricsRunning> {
  const { path } = await need(victoriaMetrics);
  const folder = await runFolder('victoria-metrics');
  const scrape: string[] = [];
  if (options.scrapeConfig !== undefined) {
    await writeFile(join(folder, 'scrape.yaml'), options.scrapeConfig);
    scrape.push('-promscrape.config=scrape.yaml');
  }
  const { relabelFile } = options;
  const relabel = relabelFile === undefined ? [] : [`-relabelConfig=${relabelFile}`];
  const naming = options.hasPrometheusNaming ? ['-opentelemetry.usePrometheusNaming'] : [];
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    name: 'victoria-metrics',
    command: path,
    args: [
      `-httpListenAddr=127.0.0.1:${port}`,
      `-storageDataPath=${join(folder, 'data')}`,
      '-retentionPeriod=1',
      '-search.latencyOffset=0s',
      '-memory.allowedBytes=256MB',
      ...scrape,
      ...relabel,
      ...naming,
    ],
    folder,
    isReady: () => isUp(`${url}/health`),
  });
  return {
    pid: server.pid,
    url,
    otlpUrl: `${url}/opentelemetry/v1/metrics`,
    flush: () => flush(url),
    series: selector => storedSeries(url, selector),
    stop: () => server.stop(),
  };
}

async function flush(url: string): Promise<void> {
  if (!(await isUp(`${url}/internal/force_flush`))) throw new Error('cannot flush');
}

async function storedSeries(url: string, selector: string): Promise<StoredSeries[]> {
  await flush(url);
  const query = new URLSearchParams({ 'match[]': selector });
  const answer = await fetch(`${url}/api/v1/export?${query.toString()}`);
  if (!answer.ok) throw new Error(`cannot export ${selector}: ${answer.status}`);
  const lines = (await answer.text()).split('\n').filter(line => line !== '');
  return lines.map(line => {
    const series = JSON.parse(line) as StoredSeries & { values: (number | string | null)[] };
    // The export writes infinities as words and NaN as null.
    return { ...series, values: series.values.map(value => readValue(String(value ?? 'NaN'))) };
  });
}
