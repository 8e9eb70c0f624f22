// Each profile of a back end against a server that enforces what the vendor publishes: `once` and a daemon send pages of
// some services, histograms, summaries and logs with statements of 6,000 characters. Nothing is refused, nothing is lost.
// CONTRACT_SERVICES is the number of services; 125 have 20,000 series.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BACK_END_NAMES, type BackEndName } from '../../src/config/back-ends.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { GeneratedLogs, type LogArchive, type LogLine } from '../../src/simulator/log-source.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { demoServices } from '../../src/simulator/world.ts';
import { ContractBackEnd, CONTRACTS, TOKEN } from '../support/contract-back-end.ts';
import { type HttpTestServer, startHttpServer } from '../support/http-server.ts';
import { run, start, tempDirectory, until } from '../support/program.ts';
import { drained } from './support/bridge.ts';

const KEY = 'contracts-key';
const SERVICES = demoServices(Number(process.env['CONTRACT_SERVICES'] ?? 8));
const COLUMNS = Array.from({ length: 600 }, (_, column) => `column_${String(column)}`).join(', ');

/** The usual logs, with long statements. */
class LongStatements extends GeneratedLogs {
  override *lines(archive: LogArchive, nowMs: number): Iterable<LogLine> {
    for (const line of super.lines(archive, nowMs))
      yield { ...line, text: line.text.replace('SELECT *', `SELECT ${COLUMNS}`) };
  }
}

/** Kinds that the simulator does not have. */
const PAGE = `# TYPE request_seconds histogram
${Array.from({ length: 40 }, (_, path) =>
  [0.1, 1, 10, '+Inf'].map(
    (bound, at) =>
      `request_seconds_bucket{namespace="dbkinds01",path="${String(path)}",le="${String(bound)}"} ${String(at + 1)}`,
  ),
)
  .flat()
  .join('\n')}
# TYPE wait_seconds summary
wait_seconds{namespace="dbkinds01",quantile="0.5"} 1
wait_seconds{namespace="dbkinds01",quantile="0.99"} 2
wait_seconds_sum{namespace="dbkinds01"} 12
wait_seconds_count{namespace="dbkinds01"} 9
`;

let simulator: Simulator;
let kinds: HttpTestServer;
const files = tempDirectory();

beforeAll(async () => {
  const logs = new LongStatements(SERVICES.slice(0, 2), 1);
  const options = { clock: systemClock, key: KEY, services: SERVICES, refreshMs: 1000, logs };
  simulator = await startSimulator(options);
  kinds = await startHttpServer(({ path }, response) => {
    response.end(path.includes('/logs') ? '{"logs":[],"count":0}' : PAGE);
  });
});

afterAll(async () => {
  await simulator.close();
  await kinds[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

function configOf(name: BackEndName, back: ContractBackEnd, directory: string): string {
  const { token, signalHeaders = {}, takesNoLogs, paths } = CONTRACTS[name];
  const [metrics, logs] = [paths?.metrics ?? '/v1/metrics', '/v1/logs'];
  const isGrpc = name === 'chronosphere';
  const own = isGrpc
    ? { endpoint: back.url }
    : { metrics_endpoint: `${back.url}${metrics}`, logs_endpoint: `${back.url}${logs}` };
  const headers = token === undefined ? {} : { [token[0]]: token[1] };
  // Headers of the other signal do no harm.
  const more = Object.values(signalHeaders)
    .flat()
    .map(header => [header, 'databases']);
  return files.write(
    `${name}.yaml`,
    JSON.stringify({
      api: { base_url: simulator.url, key: KEY },
      services: [
        ...SERVICES.map(({ id }) => ({ id })),
        { id: 'dbkinds01', api: { base_url: kinds.origin } },
      ],
      // A large page takes seconds in requests of 200 points.
      metrics: { interval: SERVICES.length > 20 ? '15s' : '1s' },
      logs: { enabled: takesNoLogs === undefined },
      otlp: {
        backend: name,
        ...own,
        headers: { ...headers, ...Object.fromEntries(more) },
        timeout: '60s',
      },
      queue: { directory },
      status: { listen: '127.0.0.1:0' },
    }),
  );
}

describe.each(BACK_END_NAMES)('%s', name => {
  test('takes all of `once` and of a daemon', async () => {
    await using back = await ContractBackEnd.start(name);
    const config = configOf(name, back, `${files.path}/${name}`);
    const first = await run(['once', '--config', config]);
    expect(back.refusals).toEqual([]);
    expect(first.stderr).not.toContain(TOKEN);
    expect(first.code, first.stderr).toBe(0);
    const daemon = start(['run', '--config', config]);
    await daemon.ready();
    const before = back.figures.requests;
    await until('three more requests', () => back.figures.requests >= before + 3, 120_000);
    await drained(daemon);
    await daemon.stop();
    const { requests, refused, points, records, largestBytes, largestPoints, longestValue } =
      back.figures;
    console.log(
      `${name}: ${requests} requests, ${refused} refused, ${points} points, ${records} records, at most ${largestBytes} bytes and ${largestPoints} points, the longest value ${longestValue} characters`,
    );
    expect(back.refusals).toEqual([]);
    expect(points).toBeGreaterThan(SERVICES.length * 100);
    const { takesNoLogs, valueLengthMax } = CONTRACTS[name];
    if (takesNoLogs === undefined)
      expect(longestValue).toBeGreaterThan(valueLengthMax === undefined ? 4095 : 250);
    expect(records > 0).toBe(takesNoLogs === undefined);
  });
});
