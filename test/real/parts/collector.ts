// A real OpenTelemetry Collector: test/real/go/otelcol, built from the collector's and its contributors'
// modules. By default it writes everything that its OTLP receiver accepted to a file, one request a line,
// as OTLP/JSON; a bench may give it a configuration of its own.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runFolder } from '../support/folder.ts';
import { goBuild } from '../support/go-build.ts';
import { need, type Part, type Running } from '../support/part.ts';
import { freePort, isListening, startServer } from '../support/process.ts';

export interface CollectorOptions {
  /** The whole configuration as YAML; both ports must be listened on. Default: OTLP in, file out. */
  readonly config?: (ports: CollectorPorts, output: string) => string;
}

export interface CollectorPorts {
  readonly http: number;
  readonly grpc: number;
}

export interface CollectorRunning extends Running {
  readonly pid: number;
  /** What an OTLP/HTTP client takes as its endpoint. */
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
  await writeFile(file, (options.config ?? otlpToFile)(ports, output));
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

function otlpToFile(ports: CollectorPorts, output: string): string {
  return `
receivers:
  otlp:
    protocols:
      http: {endpoint: "127.0.0.1:${ports.http}"}
      grpc: {endpoint: "127.0.0.1:${ports.grpc}"}
exporters:
  file: {path: ${JSON.stringify(output)}, flush_interval: 100ms}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [otlp], exporters: [file]}
    logs: {receivers: [otlp], exporters: [file]}
`;
}
