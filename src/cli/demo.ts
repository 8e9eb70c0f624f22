// `demo`: runs the simulated service, the daemon, a small receiver and the status page in one process. It needs nothing
// else, and shows data within seconds.

import { parseConfig } from '../config/load.ts';
import { Daemon } from '../daemon/daemon.ts';
import { OperatorError } from '../errors.ts';
import { untilAborted } from '../lib/bell.ts';
import { createLogger } from '../lib/log.ts';
import { Receiver } from '../simulator/receiver.ts';
import { startSimulator, type Simulator } from '../simulator/simulator.ts';
import { serveStatus } from '../status/status-server.ts';
import { PORT_RANGE, SIMULATED_KEY } from './simulate.ts';
import { printTable } from './table.ts';
import { duration, integer } from './options.ts';
import { action, type Call, type TextSink, type Verb, type VerbContext } from './verb.ts';

const REPORT_MS = 2_000;
const USUAL_PORT = 9464;

const OPTIONS = {
  for: duration('ends after this time'),
  port: integer(
    PORT_RANGE,
    'the port of the status page; 0 for any free port; if left out, 9464, or a free one if that is taken',
  ),
};

export const verb: Verb = {
  name: 'demo',
  summary: 'simulated service, daemon and receiver in one process',
  about: `Simulates four database services with all 160 series of the specification, scrapes them every two seconds,
    pulls the logs of their last hour and all new ones, and decodes everything at a receiver. Prints the address of the
    status page. Ends with Ctrl-C.`,
  actions: [action({ options: OPTIONS, run: demo })],
  exits: { 0: 'stopped', 2: 'a mistake on the command line, or the port is taken' },
  examples: ['prom2otlp demo --for 10s'],
  isStoppable: true,
};

async function demo({ values }: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { for: forMs = Infinity, port = USUAL_PORT } = values;
  const { clock, environment } = context;
  const simulator = await startSimulator({ clock, key: SIMULATED_KEY, refreshMs: 1000 });
  const receiver = await Receiver.start();
  const config = parseConfig(demoConfig(simulator, receiver, port), {
    file: 'demo',
    environment: {},
  });
  const logger = createLogger({ level: 'warn', format: 'text', clock, environment });
  const daemon = await Daemon.open({ config, clock, logger });
  const running = { daemon, loaded: null };
  const status = await serveStatus(running, clock).catch((error: unknown) => {
    const isTaken = error instanceof OperatorError && error.isTransient;
    if (values.port !== undefined || !isTaken) throw error;
    return serveStatus(running, clock, 0);
  });
  daemon.start();
  context.out.line(`simulated service   ${simulator.url}/observability/v2/metrics`);
  context.out.line(`receiver (OTLP)     ${receiver.url}/v1/metrics`);
  context.out.line(`status page         ${status.url}`);
  context.out.line('');
  const endMs = clock.monotonicMs() + forMs;
  const stopped = untilAborted(context.stop);
  while (!context.stop.aborted && clock.monotonicMs() < endMs) {
    await clock.sleep(Math.min(REPORT_MS, endMs - clock.monotonicMs()), context.stop);
    context.out.line(progressLine(daemon, receiver));
    if ((await Promise.race([context.out.taken(), stopped])) === false) break;
  }
  await daemon.stop(context.stopNow);
  printSummary(context.out, daemon, receiver);
  await Promise.all([status.close(), simulator.close(), receiver.close()]);
  return 0;
}

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
  const scrapes = daemon.targets.reduce((sum, { status }) => sum + status.scrapeCount, 0);
  const samples = daemon.targets.reduce((sum, { status }) => sum + status.samples, 0);
  const made = total.get('point/made') ?? 0;
  const accepted = total.get('point/accepted') ?? 0;
  const { sum, updown, gauge } = receiver.points;
  return [
    `scraped ${scrapes} pages of ${samples} samples`,
    `typed ${made} points`,
    `accepted ${accepted}`,
    `receiver decoded ${sum} counter, ${updown} up-down, ${gauge} gauge points and ${receiver.logRecords} log records`,
  ].join('  │  ');
}

function printSummary(out: TextSink, daemon: Daemon, receiver: Receiver): void {
  const rows = daemon.targets
    .flatMap(({ services }) => services)
    .map(({ id, samples, points }) => [
      daemon.config.services.find(service => service.id === id)?.name ?? id,
      id,
      String(samples),
      String(points),
      String(daemon.queue.account.get(id, 'point/accepted')),
    ]);
  out.line('');
  printTable(out, [['SERVICE', 'ID', 'SAMPLES', 'POINTS', 'ACCEPTED IN ALL'], ...rows]);
  const kinds = Object.entries(receiver.names).filter(([, names]) => names.size > 0);
  const counts = kinds.map(([kind, names]) => `${names.size} ${kind}`).join(', ');
  out.line(`metrics that arrived, by type: ${counts}`);
  out.line(`log records that arrived: ${receiver.logRecords}`);
}
