// The measured programs, by the names under which the scenarios and the command line know them: prom2otlp as it is
// shipped, the programs that others use for the same task, with their defaults, and a plain stack of packages.

import { execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { parse } from 'yaml';
import { collector } from '../test/real/parts/collector.ts';
import { prometheus, releasedVersion } from '../test/real/parts/prometheus.ts';
import { vmagent } from '../test/real/parts/vmagent.ts';
import { checkoutFolder, exclusively, realFolder, runFolder } from '../test/real/support/folder.ts';
import type { Preparable } from '../test/real/support/part.ts';
import { shippedEnvironment, shippedFlags } from '../test/support/shipped.ts';
import { API_KEY, PAGE_PATH } from './page-server.ts';
import type { Presence } from './report/results.ts';

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
  prepare(): Promise<Presence>;
  /** Resolves when the program runs; it may have scraped by then. */
  start(task: Task): Promise<RunningContender>;
}

export const CONTENDERS: readonly Contender[] = [
  {
    name: 'ours',
    title: 'prom2otlp, zstd',
    isRounded: false,
    prepare: ourVersion,
    start: task => startOurs(task, 'zstd'),
  },
  {
    name: 'ours-gzip',
    title: 'prom2otlp, gzip (the default)',
    isRounded: false,
    prepare: ourVersion,
    start: task => startOurs(task, 'gzip'),
  },
  {
    name: 'vmagent',
    title: 'vmagent',
    isRounded: true,
    prepare: () => prepare(vmagent, 'victoria-metrics'),
    start: task =>
      vmagent.start({
        scrapeConfig: scrapeJobs(task, `headers: ["X-API-Key: ${API_KEY}"]`),
        remoteWriteUrl: `${task.sinkUrl}/api/v1/write`,
        // The fleet's page is larger than the 16 MiB that vmagent accepts by default.
        flags: ['-promscrape.maxScrapeSize=1GiB'],
      }),
  },
  {
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
  },
  {
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
  },
  {
    name: 'plain-stack',
    title: 'plain stack',
    isRounded: false,
    prepare: () => Promise.resolve({ version: `Node ${process.version}` }),
    start: startPlain,
  },
];

/** Throws when no contender has this name. */
export function contenderOf(name: string): Contender {
  const contender = CONTENDERS.find(contender => contender.name === name);
  if (contender === undefined) throw new Error(`there is no contender ${name}`);
  return contender;
}

// The other programs. Each honors timestamps.

/** In Prometheus' format. The header is an argument: vmagent spells it in another way. */
function scrapeJobs({ intervalMs, origins }: Task, header: string): string {
  const seconds = intervalMs / 1000;
  return `scrape_configs:
  - job_name: bench
    metrics_path: ${PAGE_PATH}
    honor_timestamps: true
    scrape_interval: ${seconds}s
    scrape_timeout: ${Math.min(seconds, 10)}s
    ${header}
    static_configs:
      - targets: ${JSON.stringify(origins.map(origin => new URL(origin).host))}
`;
}

function prometheusJobs(task: Task): string {
  return scrapeJobs(task, `http_headers: {X-API-Key: {values: [${API_KEY}]}}`);
}

/** Uses only parts that `npm run test:parts` has built or downloaded: doing that here would take minutes. */
async function prepare(part: Preparable, cacheName: string): Promise<Presence> {
  const parts = join(realFolder, 'parts');
  const names = existsSync(parts) ? readdirSync(parts) : [];
  const isThere = names.some(
    name => name.startsWith(`${cacheName}-`) && existsSync(join(parts, name, '.seconds')),
  );
  if (!isThere) return { absent: 'it is not prepared: npm run test:parts' };
  const prepared = await exclusively(() => part.prepare());
  return 'absent' in prepared ? prepared : { version: prepared.version };
}

// prom2otlp: the bundle, with the flags and the environment of the Dockerfile, and with the durable queue, the status
// page and its own telemetry on.

const PROGRAM = 'bin/prom2otlp.js';
let installed: Promise<string> | null = null;

/** A folder with the contents of the package, built once and copied, so that a later build does not change it. */
async function install(): Promise<string> {
  const folder = await runFolder('bench-installed');
  execFileSync(process.execPath, ['tools/build.ts'], { cwd: checkoutFolder });
  for (const name of ['bin', 'dist', 'package.json'])
    await cp(join(checkoutFolder, name), join(folder, name), { recursive: true });
  return folder;
}

async function ourVersion(): Promise<Presence> {
  const program = join(await (installed ??= install()), PROGRAM);
  const version = execFileSync(process.execPath, [program, 'version'], { encoding: 'utf8' });
  return { version: version.split('\n')[0]?.trim() ?? '' };
}

async function startOurs(task: Task, compression: string): Promise<RunningContender> {
  const { origins, services, intervalMs, hasLogs, sinkUrl } = task;
  const folder = await runFolder('bench-ours');
  const file = join(folder, 'config.json');
  const config = {
    api: { base_url: origins[0], key: API_KEY },
    services: origins.flatMap((base_url, address) =>
      (services[address] ?? []).map(id => ({ id, api: { base_url } })),
    ),
    metrics: { interval: `${intervalMs}ms` },
    logs: { enabled: hasLogs },
    otlp: { endpoint: sinkUrl, compression },
    queue: { directory: join(folder, 'queue') },
    status: { listen: '127.0.0.1:0' },
  };
  await writeFile(file, JSON.stringify(config));
  const program = join(await (installed ??= install()), PROGRAM);
  const args = [...shippedFlags(), program, 'run', '--config', file];
  return startNode(folder, args, shippedEnvironment());
}

// The plain stack of test/reference. It is bundled, as it would be shipped: stripping types would cost it memory.

async function startPlain({ origins, sinkUrl, intervalMs }: Task): Promise<RunningContender> {
  const folder = await runFolder('bench-plain');
  const options = join(folder, 'task.json');
  const urls = origins.map(origin => `${origin}${PAGE_PATH}`);
  await writeFile(options, JSON.stringify({ urls, key: API_KEY, otlp: sinkUrl, intervalMs }));
  const file = join(folder, 'plain.mjs');
  const built = await rolldown({
    input: join(checkoutFolder, 'bench/plain-main.ts'),
    platform: 'node',
    // In one file, `import.meta.main` would be true in the plain stack's module, too: it would run as the program.
    transform: { define: { 'import.meta.main': 'false' } },
    logLevel: 'silent',
  });
  const banner =
    "import { createRequire as createRequireOfBundle } from 'node:module';\n" +
    'const require = createRequireOfBundle(import.meta.url);';
  await built.write({ file, format: 'esm', banner, codeSplitting: false });
  await built.close();
  return startNode(folder, ['--max-old-space-size=8192', file, options], {});
}

/** Starts Node.js in a folder, which gets its output; `env` is its whole environment. */
function startNode(
  cwd: string,
  args: readonly string[],
  env: Record<string, string>,
): RunningContender {
  const output = openSync(join(cwd, 'output.log'), 'a');
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', output, output] });
  closeSync(output);
  process.once('exit', () => child.kill('SIGKILL'));
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()));
  const stop = (): Promise<void> => {
    child.kill('SIGTERM');
    return ended;
  };
  return { pid: child.pid ?? 0, stop };
}
