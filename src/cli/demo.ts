// `demo`: the simulated service, the real bridge and a small receiver in one process, with the status page. It
// needs nothing else, and shows within seconds that data flows.

import { parseConfig } from '../config/load.ts';
import { parseDuration } from '../config/units.ts';
import { Daemon } from '../daemon/daemon.ts';
import { createLogger } from '../lib/log.ts';
import { decodeLogsRequest, decodeMetricsRequest } from '../pipeline/encode/otlp-json.ts';
import { type Receiver, startReceiver } from '../simulator/receiver.ts';
import { startSimulator, type Simulator } from '../simulator/simulator.ts';
import { serveStatus } from '../status/status-server.ts';
import { SIMULATED_KEY } from './simulate.ts';
import { renderTable } from './table.ts';
import { readOptions, usageError, type TextSink, type Verb } from './verb.ts';

const VERB = 'demo';
const REPORT_MS = 2_000;

export const verb: Verb = {
  summary: 'simulated service, daemon and receiver in one process',
  help: `
Usage: prom2otlp demo [--for 10s] [--port 9464]

Simulates four database services with all 160 series of the specification, scrapes them every two seconds,
pulls the logs of their last hour and all new ones, and decodes everything at a receiver. Prints the address of the
status page. Ends with Ctrl-C.

  --for 10s     ends after this time
  --port 9464   the port of the status page; 0 for any free port`,
  isStoppable: true,
  run: async context => {
    const values = readOptions(VERB, context.args, {
      for: { type: 'string' },
      port: { type: 'string', default: '9464' },
    });
    const forMs = values.for === undefined ? Infinity : parseDuration(values.for);
    if (forMs === undefined) throw usageError(VERB, 'expected --for as 10s');
    const port = Number(values.port);
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw usageError(VERB, 'expected --port with a number from 0 to 65535');
    const { clock } = context;
    const simulator = await startSimulator({ clock, key: SIMULATED_KEY, refreshMs: 1000 });
    const receiver = await startReceiver({
      clock,
      decodeMetrics: decodeMetricsRequest,
      decodeLogs: decodeLogsRequest,
    });
    const config = parseConfig(demoConfig(simulator, receiver, port), {
      file: 'demo',
      environment: {},
    });
    const logger = createLogger({ level: 'warn', format: 'text', clock });
    const daemon = await Daemon.open({ config, clock, logger });
    const status = await serveStatus({ daemon, lastReload: null }, clock);
    daemon.start();
    context.out.line(`simulated service   ${simulator.url}/observability/v2/metrics`);
    context.out.line(`receiver (OTLP)     ${receiver.url}/v1/metrics`);
    context.out.line(`status page         ${status.url}`);
    context.out.line('');
    const endMs = clock.monotonicMs() + forMs;
    while (!context.stop.aborted && clock.monotonicMs() < endMs) {
      await clock.sleep(Math.min(REPORT_MS, endMs - clock.monotonicMs()), context.stop);
      context.out.line(progressLine(daemon, receiver));
    }
    await daemon.stop(context.stopNow);
    printSummary(context.out, daemon, receiver);
    await Promise.all([status.close(), simulator.close(), receiver.close()]);
    return 0;
  },
};

function demoConfig(simulator: Simulator, receiver: Receiver, port: number): string {
  const services = simulator.world.services.map(({ id, name }) => ({ id, name }));
  return JSON.stringify({
    api: { base_url: simulator.url, key: SIMULATED_KEY, timeout: '1s' },
    services,
    metrics: { interval: '2s', stale_after: '30s' },
    logs: { enabled: true, schedule: '30s' },
    backups: { enabled: true, interval: '30s' },
    otlp: { endpoint: receiver.url },
    queue: { directory: null },
    status: { listen: `127.0.0.1:${port}` },
    telemetry: { enabled: false },
  });
}

function progressLine(daemon: Daemon, receiver: Receiver): string {
  const total = daemon.queue.account.total();
  const scrapes = daemon.targets.reduce((sum, target) => sum + target.scrapeCount, 0);
  const samples = daemon.targets.reduce((sum, { last }) => sum + (last?.facts.samples ?? 0), 0);
  const made = total.get('point/made') ?? 0;
  const accepted = total.get('point/accepted') ?? 0;
  const { logRecords, points } = receiver.totals;
  const { sum, updown, gauge } = points;
  return [
    `scraped ${scrapes} pages of ${samples} samples`,
    `typed ${made} points`,
    `accepted ${accepted}`,
    `receiver decoded ${sum} counter, ${updown} up-down, ${gauge} gauge points and ${logRecords} log records`,
  ].join('  │  ');
}

function printSummary(out: TextSink, daemon: Daemon, receiver: Receiver): void {
  const types = new Map<string, Set<string>>();
  for (const { name, kind } of receiver.points) {
    let names = types.get(kind);
    if (names === undefined) types.set(kind, (names = new Set()));
    names.add(name);
  }
  const rows = daemon.targets
    .flatMap(({ last }) => last?.services ?? [])
    .map(({ id, samples, points }) => [
      daemon.config.services.find(service => service.id === id)?.name ?? id,
      id,
      String(samples),
      String(points),
      String(daemon.queue.account.get(id, 'point/accepted')),
    ]);
  out.line('');
  out.line(renderTable([['SERVICE', 'ID', 'SAMPLES', 'POINTS', 'ACCEPTED IN ALL'], ...rows]));
  const counts = [...types].map(([kind, names]) => `${names.size} ${kind}`).join(', ');
  out.line(`metrics that arrived, by type: ${counts}`);
  out.line(`log records that arrived: ${receiver.totals.logRecords}`);
}
