// What the bench needs of a program that it measures: whether this machine has it, how to start it for given pages and a
// sink, and which process to look at.

import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

/** The task: the same for all. */
export interface Task {
  /** One page each, below PAGE_PATH; all ask for the same key. */
  readonly origins: readonly string[];
  /** Ids of the services on each of them. */
  readonly services: readonly (readonly string[])[];
  readonly intervalMs: number;
  /** The authority of pages over TLS, a PEM file; null for plain http. */
  readonly caFile: string | null;
  readonly hasLogs: boolean;
  /** Base address; OTLP below /v1, remote write below /api/v1. */
  readonly sinkUrl: string;
}

export interface RunningContender {
  readonly pid: number;
  /** Where its pauses are noted; none for most. */
  readonly pausesFile?: string | null;
  stop(): Promise<void>;
}

export interface Contender {
  /** Short, as on the command line and in results: `prometheus-agent`. */
  readonly name: string;
  readonly title: string;
  /** Whether the last bits of values may differ: it reads decimals in haste. */
  readonly isRounded: boolean;
  /** Its version, or why this machine has none. */
  prepare(): Promise<{ readonly version: string } | { readonly absent: string }>;
  /** Resolves when it runs; it may have scraped by then. */
  start(task: Task): Promise<RunningContender>;
}

/** Starts Node.js with what it writes in a file, and nothing else in its environment; `signal` ends it. */
export function startNode(
  args: readonly string[],
  {
    log,
    env,
    signal,
    ...options
  }: {
    readonly log: string;
    readonly env: Record<string, string>;
    readonly signal: NodeJS.Signals;
    readonly cwd?: string;
  },
): RunningContender {
  const output = openSync(log, 'a');
  const stdio = ['ignore' as const, output, output];
  const child = spawn(process.execPath, args, { ...options, env, stdio });
  closeSync(output);
  process.once('exit', () => child.kill('SIGKILL'));
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()));
  const stop = (): Promise<void> => {
    child.kill(signal);
    return ended;
  };
  return { pid: child.pid ?? 0, stop };
}

/** The scrape jobs of one task as Prometheus writes them; vmagent spells the header in its own way. */
export function scrapeJobs(task: Task, headerLines: string): string {
  const [first = ''] = task.origins;
  const url = new URL(first);
  const seconds = task.intervalMs / 1000;
  const tls = task.caFile === null ? '' : `\n    tls_config: {ca_file: ${task.caFile}}`;
  return `
  - job_name: bench
    scheme: ${url.protocol.slice(0, -1)}
    metrics_path: /observability/v2/metrics
    honor_timestamps: true
    scrape_interval: ${seconds}s
    scrape_timeout: ${Math.min(seconds, 10)}s
${headerLines}${tls}
    static_configs:
      - targets: ${JSON.stringify(task.origins.map(origin => new URL(origin).host))}
`;
}
