// A real Prometheus with its OTLP receiver on, built from its module without the user interface: a back
// end for the tests and, as an agent, a contender in the bench.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runFolder } from '../support/folder.ts';
import { goBuild } from '../support/go-build.ts';
import { need, type Part, type Running } from '../support/part.ts';
import { freePort, isUp, startServer } from '../support/process.ts';

export interface PrometheusOptions {
  /** Its configuration as YAML: scrape jobs, remote write, the `otlp` section. By default, nothing is scraped. */
  readonly config?: string;
  /** Agent mode: no queries, no OTLP receiver. */
  readonly isAgent?: boolean;
}

export interface PrometheusRunning extends Running {
  readonly pid: number;
  readonly url: string;
  /** The value for `otlp.metrics_endpoint`. */
  readonly otlpUrl: string;
  /** Does nothing: samples are visible as soon as they arrive. */
  flush(): Promise<void>;
}

/** Turns the module's version into the program's: 0.314.0 is 3.14.0. */
export function releasedVersion(moduleVersion: string): string {
  const [, minor, patch] = moduleVersion.split('.');
  return `${minor?.slice(0, 1)}.${Number(minor?.slice(1))}.${patch}`;
}

export const prometheus: Part<PrometheusOptions, PrometheusRunning> = {
  name: 'prometheus',
  prepare: () =>
    goBuild({
      name: 'prometheus',
      package: 'github.com/prometheus/prometheus/cmd/prometheus',
      versionOf: 'github.com/prometheus/prometheus',
      linkerFlags: version =>
        `-X github.com/prometheus/common/version.Version=${releasedVersion(version)}`,
      sources: [],
    }),
  start: startPrometheus,
};

async function startPrometheus(options: PrometheusOptions): Promise<PrometheusRunning> {
  const { path } = await need(prometheus);
  const folder = await runFolder('prometheus');
  await writeFile(join(folder, 'prometheus.yaml'), options.config ?? 'scrape_configs: []\n');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    name: 'prometheus',
    command: path,
    args: [
      '--config.file=prometheus.yaml',
      `--web.listen-address=127.0.0.1:${port}`,
      ...(options.isAgent === true
        ? ['--agent', '--storage.agent.path=data']
        : ['--storage.tsdb.path=data', '--web.enable-otlp-receiver']),
    ],
    folder,
    isReady: () => isUp(`${url}/-/ready`),
  });
  return {
    pid: server.pid,
    url,
    otlpUrl: `${url}/api/v1/otlp/v1/metrics`,
    flush: () => Promise.resolve(),
    stop: () => server.stop(),
  };
}
