// The program reads an archive with an entry as large as the limit allows in little memory, and scrapes metrics meanwhile
// as if there were no archive.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { LOOP_PROBE, readPauses } from '../support/loop-probe.ts';
import { start, tempDirectory, until } from '../support/program.ts';
import {
  BIG_SERVICE,
  type BigArchiveService,
  packedMiB,
  RECORDS_PER_BLOCK,
  serveBigArchive,
} from './support/big-archive.ts';

/** The unpacked size of the entry. The limit is 2 GiB, so the full size is 2048. */
const ENTRY_MIB = Number(process.env['ENTRY_MIB'] ?? 200);
const ABOVE_IDLE_MIB = 64;
/** No turn of the event loop works longer, so a scrape starts at most this much later than without logs. */
const TURN_MS = 50;

const INTERVAL_MS = 1000;
/** How long the program runs without an archive. */
const IDLE_MS = 10_000;
/** The only flag of the command lines in deploy/ that matters here. */
const SHIPPED_FLAGS = '--max-semi-space-size=1';
const LONG_TURN = fileURLToPath(new URL('support/long-turn.ts', import.meta.url));

function configOf(service: BigArchiveService, directory: string): string {
  return JSON.stringify({
    api: { base_url: service.url, key: 'k', timeout: '1s' },
    services: [{ id: BIG_SERVICE }],
    metrics: { interval: `${INTERVAL_MS}ms` },
    logs: {
      enabled: true,
      types: ['slow-query-log'],
      first_start: 'beginning',
      limits: { unpacked: '2GiB' },
      endpoints: { format: 'raw' },
    },
    otlp: { endpoint: service.url },
    queue: { directory },
    status: { listen: '127.0.0.1:0' },
    telemetry: { enabled: false },
  });
}

interface Lived {
  readonly peakMiB: number;
  readonly seconds: number;
  /** The 95th percentile of the deviation of scrapes from their schedule; only printed. */
  readonly jitterMs: number;
  /** Processor time of the longest turn of the event loop since the request for the archive. */
  readonly turnMs: number;
  readonly records: number;
  /** Errors that the program has logged. */
  readonly problems: readonly string[];
}

/** Runs the daemon until everything in the archive is sent (or for some seconds, without an archive). */
async function live(blocks: number): Promise<Lived> {
  await using service = await serveBigArchive(blocks);
  using files = tempDirectory();
  const config = files.write('c.yaml', configOf(service, `${files.path}/queue`));
  const pauses = `${files.path}/pauses.jsonl`;
  const NODE_OPTIONS = `${SHIPPED_FLAGS} --import ${LOOP_PROBE}`;
  const environment = { NODE_OPTIONS, LOOP_PAUSES: pauses };
  const running = start(['run', '--config', config], environment);
  const { child } = running;
  const startedMs = performance.now();
  const isThrough = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`the program has ended: ${running.stderr()}`);
    if (blocks === 0) return performance.now() - startedMs > IDLE_MS;
    const { logs, queue } = await running.status();
    records = logs?.partitions[0]?.recordCount ?? 0;
    const isRead = records >= blocks * RECORDS_PER_BLOCK;
    return isRead && queue.every(({ rows }) => rows === 0);
  };
  let records = 0;
  // Ends the program even if the test fails.
  using _process = { [Symbol.dispose]: () => child.kill('SIGKILL') };
  await running.ready();
  await until('the archive is through', isThrough, 1_500_000);
  const { peak } = running.memory;
  const seconds = (performance.now() - startedMs) / 1000;
  child.kill('SIGTERM');
  await running.finished;
  const during = readPauses(pauses).filter(({ atMs }) => atMs > service.archiveAskedAtMs());
  return {
    peakMiB: peak / 2 ** 20,
    seconds,
    jitterMs: jitterOf(service.scrapes),
    turnMs: Math.max(0, ...during.map(({ cpuMs }) => cpuMs)),
    records,
    problems: running
      .stderr()
      .split('\n')
      .filter(line => line.includes('"level":"error"')),
  };
}

function jitterOf(scrapes: readonly number[]): number {
  // Leaves out the first scrapes, which do not wait for their phase.
  const phases = scrapes.slice(2).map(atMs => atMs % INTERVAL_MS);
  const base = phases.toSorted((a, b) => a - b)[Math.floor(phases.length / 2)] ?? 0;
  const off = phases
    .map(phase => Math.abs(phase - base))
    .map(distance => Math.min(distance, INTERVAL_MS - distance))
    .sort((a, b) => a - b);
  return off[Math.floor(off.length * 0.95)] ?? Number.NaN;
}

test('a turn that works too long is noticed', async () => {
  using files = tempDirectory();
  const pauses = `${files.path}/pauses.jsonl`;
  const child = spawn(process.execPath, ['--import', LOOP_PROBE, LONG_TURN, `${2 * TURN_MS}`], {
    env: { ...process.env, LOOP_PAUSES: pauses },
    stdio: 'inherit',
  });
  await once(child, 'exit');
  expect(Math.max(...readPauses(pauses).map(({ cpuMs }) => cpuMs))).toBeGreaterThan(TURN_MS);
});

test(`an entry of ${ENTRY_MIB} MiB needs little memory, and scrapes keep their time`, async () => {
  const idle = await live(0);
  const busy = await live(ENTRY_MIB);
  console.log(
    `logs: ${ENTRY_MIB} MiB (packed ${packedMiB(ENTRY_MIB).toFixed(0)} MiB) in ${busy.seconds.toFixed(1)} s, ` +
      `${(ENTRY_MIB / busy.seconds).toFixed(1)} MiB/s; peak ${busy.peakMiB.toFixed(0)} MiB, idle ${idle.peakMiB.toFixed(0)} MiB; ` +
      `longest turn ${busy.turnMs.toFixed(0)} ms of processor time; ` +
      `scrape jitter ${busy.jitterMs.toFixed(0)} ms, idle ${idle.jitterMs.toFixed(0)} ms (95 %)`,
  );
  expect(busy.problems).toEqual([]);
  expect(busy.records).toBeGreaterThanOrEqual(ENTRY_MIB * RECORDS_PER_BLOCK);
  expect(busy.peakMiB - idle.peakMiB).toBeLessThan(ABOVE_IDLE_MIB);
  expect(busy.turnMs).toBeLessThan(TURN_MS);
});
