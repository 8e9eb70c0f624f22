// The interface of a measured program: whether this machine has it, how to start it for given pages and a sink, and
// which process to look at.

import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

/** The task of a contender, the same for all of them. */
export interface Task {
  /** Each origin has one page, at PAGE_PATH. All pages need the same key. */
  readonly origins: readonly string[];
  /** The ids of the services on the page of each origin. */
  readonly services: readonly (readonly string[])[];
  readonly intervalMs: number;
  readonly hasLogs: boolean;
  /** The base address: OTLP is below /v1, remote write below /api/v1. */
  readonly sinkUrl: string;
}

export interface RunningContender {
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Contender {
  /** The short name, as on the command line and in results: `prometheus-agent`. */
  readonly name: string;
  readonly title: string;
  /** Whether the last bits of values may differ, because its parser of decimals is fast but inexact. */
  readonly isRounded: boolean;
  /** The program's version, or why this machine does not have it. */
  prepare(): Promise<{ readonly version: string } | { readonly absent: string }>;
  /** Resolves when the program runs; it may have scraped by then. */
  start(task: Task): Promise<RunningContender>;
}

/** Starts Node.js with its output in the file `log` and only `env` as its environment; `stop` sends `signal`. */
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

/** The scrape jobs of one task in Prometheus' format. The header is an argument: vmagent spells it in another way. */
export function scrapeJobs(task: Task, headerLines: string): string {
  const seconds = task.intervalMs / 1000;
  return `
  - job_name: bench
    metrics_path: /observability/v2/metrics
    honor_timestamps: true
    scrape_interval: ${seconds}s
    scrape_timeout: ${Math.min(seconds, 10)}s
${headerLines}
    static_configs:
      - targets: ${JSON.stringify(task.origins.map(origin => new URL(origin).host))}
`;
}
