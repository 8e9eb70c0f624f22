// A real OpenTelemetry Collector: test/real/go/otelcol, built from the collector's and its contributors'
// modules. By default it writes everything that its OTLP receiver accepted to a file, one request a line,
// as OTLP/JSON; a test or a bench may change its configuration.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  LogsRequestJson,
  MetricsRequestJson,
} from '../../../src/pipeline/encode/otlp-fields.ts';
import { runFolder } from '../support/folder.ts';
import { goBuild } from '../support/go-build.ts';
import { need, type Part, type Running } from '../support/part.ts';
import { freePort, isListening, startServer } from '../support/process.ts';

export interface CollectorOptions {
  /** Changes the default configuration (from OTLP to the file). It must keep both OTLP endpoints. */
  readonly configure?: (config: CollectorConfig, output: string) => void;
}

export interface CollectorConfig {
  readonly receivers: {
    readonly otlp: { readonly protocols: Record<'http' | 'grpc', { readonly endpoint: string }> };
    prometheus?: unknown;
  };
  processors: Readonly<Record<string, unknown>>;
  exporters: Readonly<Record<string, unknown>>;
  service: {
    readonly telemetry: unknown;
    pipelines: Readonly<
      Record<
        string,
        {
          readonly receivers: readonly string[];
          readonly processors?: readonly string[];
          readonly exporters: readonly string[];
        }
      >
    >;
  };
}

export interface CollectorRunning extends Running {
  readonly pid: number;
  /** The endpoint for an OTLP/HTTP client. */
  readonly httpUrl: string;
  readonly grpcUrl: string;
  /** The file of the default configuration: OTLP/JSON, one request a line. Complete after stop(). */
  readonly output: string;
}

export const collector: Part<CollectorOptions, CollectorRunning> = {
  name: 'collector',
  prepare: () =>
    goBuild({
      name: 'otelcol',
      package: './otelcol',
      versionOf: 'go.opentelemetry.io/collector/otelcol',
      linkerFlags: version => `-X main.version=${version}`,
      sources: ['otelcol/main.go'],
    }),
  start: startCollector,
};

async function startCollector(options: CollectorOptions): Promise<CollectorRunning> {
  const { path } = await need(collector);
  const folder = await runFolder('collector');
  const ports = { http: await freePort(), grpc: await freePort() };
  const output = join(folder, 'received.jsonl');
  const file = join(folder, 'config.yaml');
  const config = otlpToFile(ports, output);
  options.configure?.(config, output);
  await writeFile(file, JSON.stringify(config));
  const server = await startServer({
    name: 'collector',
    command: path,
    args: [`--config=file:${file}`],
    folder,
    isReady: async () => (await isListening(ports.http)) && isListening(ports.grpc),
  });
  return {
    pid: server.pid,
    httpUrl: `http://127.0.0.1:${ports.http}`,
    grpcUrl: `http://127.0.0.1:${ports.grpc}`,
    output,
    stop: () => server.stop(),
  };
}

/** The complete requests in the file of a Collector, in the order in which they were accepted. */
export async function readRequests(
  output: string,
): Promise<(MetricsRequestJson & LogsRequestJson)[]> {
  const lines = (await readFile(output, 'utf8')).split('\n');
  return lines.filter(line => line.endsWith('}')).map(line => JSON.parse(line));
}

function otlpToFile(
  { http, grpc }: { readonly http: number; readonly grpc: number },
  path: string,
): CollectorConfig {
  const protocols = {
    http: { endpoint: `127.0.0.1:${http}` },
    grpc: { endpoint: `127.0.0.1:${grpc}` },
  };
  const pipeline = { receivers: ['otlp'], exporters: ['file'] };
  return {
    receivers: { otlp: { protocols } },
    processors: {},
    exporters: { file: { path, flush_interval: '100ms' } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { metrics: pipeline, logs: pipeline },
    },
  };
}

/** Lets the Collector scrape, too, into the same file. */
export function alsoScrape(config: CollectorConfig, prometheus: unknown): void {
  config.receivers.prometheus = prometheus;
  const metrics = { receivers: ['otlp', 'prometheus'], exporters: ['file'] };
  config.service.pipelines = { metrics };
}
