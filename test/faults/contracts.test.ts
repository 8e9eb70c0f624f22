// Each profile of a back end, with the lines of its page, against a server that enforces what the vendor publishes: `once`
// and a daemon send pages of some services, histograms, summaries and logs with statements of 6,000 characters. Nothing is
// refused but a token that has ended, and that once.
// CONTRACT_SERVICES is the number of services; 125 have 20,000 series.

import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BACK_END_NAMES, BACK_ENDS, type BackEndName } from '../../src/config/back-ends.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { GeneratedLogs, type LogArchive, type LogLine } from '../../src/simulator/log-source.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { demoServices } from '../../src/simulator/world.ts';
import { ContractBackEnd, CONTRACTS, TOKEN } from '../support/contract-back-end.ts';
import { type HttpTestServer, startHttpServer } from '../support/http-server.ts';
import { run, start, tempDirectory, until } from '../support/program.ts';
import { drained, readAccount } from './support/bridge.ts';

const KEY = 'contracts-key';
const RSA_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const SERVICES = demoServices(Number(process.env['CONTRACT_SERVICES'] ?? 8));
/** A large page takes seconds in requests of 200 points. */
const INTERVAL = SERVICES.length > 20 ? '15s' : '1s';
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

/** The lines of the back end's page, with the addresses of the test. */
function linesOf(name: BackEndName, back: ContractBackEnd): readonly string[] {
  const lines: readonly string[] = BACK_ENDS[name].example;
  return lines.map(line =>
    line.replace(/^( *)(\w*endpoint|token_url): (\S+).*$/, (_, indent, key, url: string) => {
      const origin = key === 'token_url' ? back.login.origin : back.url;
      const { pathname } = new URL(url);
      return `${indent}${key}: ${origin}${pathname === '/' ? '' : pathname}`;
    }),
  );
}

/** Writes the configuration, and the secrets that the lines name, into a directory of its own. */
function configOf(name: BackEndName, back: ContractBackEnd): string {
  const directory = join(files.path, name);
  mkdirSync(directory);
  const account = {
    client_email: 'prom2otlp@example.com',
    private_key: RSA_KEY,
    token_uri: `${back.login.origin}/token`,
  };
  const secrets = {
    token: TOKEN,
    'client-secret': TOKEN,
    'service-account.json': JSON.stringify(account),
  };
  for (const [file, text] of Object.entries(secrets)) writeFileSync(join(directory, file), text);
  const services = [
    ...SERVICES.map(({ id }) => ({ id })),
    { id: 'dbkinds01', api: { base_url: kinds.origin } },
  ];
  const file = join(directory, 'prom2otlp.yaml');
  const text = `
api: ${JSON.stringify({ base_url: simulator.url, key: KEY })}
services: ${JSON.stringify(services)}
metrics: {interval: ${INTERVAL}}
logs: {enabled: ${CONTRACTS[name].takesNoLogs === undefined}}
otlp:
  backend: ${name}
  timeout: 60s
${linesOf(name, back)
  .map(line => `  ${line}`)
  .join('\n')}
queue: {directory: queue}
status: {listen: "127.0.0.1:0"}
`;
  writeFileSync(file, text);
  return file;
}

describe.each(BACK_END_NAMES)('%s', name => {
  test('takes all of `once` and of a daemon', async () => {
    await using back = await ContractBackEnd.start(name);
    const config = configOf(name, back);
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
    const { figures } = back;
    const { requests, refused, expired, points, records } = figures;
    console.log(
      `${name}: ${requests} requests, ${refused} refused (${expired} for a token that had ended), ${points} points, ${records} records, at most ${figures.largestBytes} bytes and ${figures.largestPoints} points, the longest value ${figures.longestValue} characters`,
    );
    expect(back.refusals).toEqual([]);
    expect(figures.again).toBe(0);
    const account = readAccount(join(dirname(config), 'queue'));
    expect(account).toMatchObject({ accepted: points + records, queued: 0, rejected: 0 });
    expect(account).toMatchObject({ setAside: 0, evicted: 0 });
    expect(points).toBeGreaterThan(SERVICES.length * 100);
    const { takesNoLogs, valueLengthMax } = CONTRACTS[name];
    if (takesNoLogs === undefined)
      expect(figures.longestValue).toBeGreaterThan(valueLengthMax === undefined ? 4095 : 250);
    expect(records > 0).toBe(takesNoLogs === undefined);
  });
});
