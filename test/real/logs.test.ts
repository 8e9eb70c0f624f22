// Every record of the simulated logs, of all types and topologies, arrives once in a real Collector's log pipeline, with
// the Resource of its service's metrics, and its time, severity, body and attributes.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { logRecords, logTypesOf } from '../../src/simulator/log-source.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { demoServices } from '../../src/simulator/world.ts';
import { HOUR, MINUTE, NOW, ShiftedClock } from '../support/log-site.ts';
import { run, tempDirectory } from '../support/program.ts';
import { type ExpectedLog, expectedLog } from './logs/expected.ts';
import { collector } from './parts/collector.ts';
import { reasonToSkip } from './support/part.ts';
import { readReceived, type ReceivedPoint } from './support/received.ts';
import { type ReceivedLog, readReceivedLogs } from './support/received-logs.ts';

const KEY = 'key-of-the-real-tests';
const SEED = 7;
/** The start of the logs that are pulled. */
const FROM = NOW - 5 * HOUR;
/** Two pulls find new lines; an open record is sent with the second pull after them that finds nothing new. */
const PULLS = 4;

const noCollector = await reasonToSkip([collector]);
const services = demoServices();

/** A written record with its service, server and type. */
interface Written {
  readonly service: string;
  readonly server: string;
  readonly type: string;
  readonly text: string;
  readonly atMs: number;
  readonly expected: ExpectedLog;
}

function writtenUntil(toMs: number): readonly Written[] {
  return services.flatMap(({ id, servers }) =>
    servers.flatMap(server =>
      logTypesOf(server).flatMap(type =>
        [...logRecords(server, type, { fromMs: FROM, toMs }, SEED)].map(record => {
          const expected = expectedLog(type, record);
          return { ...record, service: id, server: server.name, type, expected };
        }),
      ),
    ),
  );
}

describe.skipIf(noCollector !== null)("a real Collector's log pipeline", () => {
  let logs: readonly ReceivedLog[] = [];
  let points: readonly ReceivedPoint[] = [];
  let written: readonly Written[] = [];
  /** Written during the last pull, which may or may not find it. */
  let late: readonly Written[] = [];
  const cleanUp = new AsyncDisposableStack();
  afterAll(() => cleanUp.disposeAsync());

  beforeAll(async () => {
    const clock = new ShiftedClock(NOW);
    const simulator = cleanUp.use(await startSimulator({ clock, key: KEY, services, seed: SEED }));
    const files = cleanUp.use(tempDirectory());
    const back = await collector.start({});
    cleanUp.defer(() => back.stop());
    const config = files.write(
      'config.yaml',
      JSON.stringify({
        api: { base_url: simulator.url, key: KEY },
        services: services.map(({ id, name }) => ({
          id,
          name,
          attributes: { 'deployment.environment.name': 'test' },
        })),
        logs: {
          enabled: true,
          first_start: new Date(FROM).toISOString(),
          redact_literals: false,
        },
        otlp: { endpoint: back.httpUrl },
        queue: { directory: `${files.path}/queue` },
        status: { listen: '127.0.0.1:0' },
        telemetry: { enabled: false },
        log: { level: 'error' },
      }),
    );
    for (let pull = 0; pull < PULLS; pull++) {
      written = writtenUntil(clock.nowMs());
      const { code, stderr } = await run(['once', '--config', config]);
      expect([code, stderr]).toEqual([0, '']);
      // The second pull finds the lines of these ten minutes. The pulls after it should find nothing new.
      if (pull === 0) clock.forward(10 * MINUTE);
    }
    late = writtenUntil(clock.nowMs());
    await back.stop();
    logs = await readReceivedLogs(back.output);
    points = await readReceived(back.output);
  });

  test('has every record once, whatever its type and topology', () => {
    expect(new Set(written.map(({ type }) => type)).size).toBe(4);
    const key = (server: string, type: string, body: string): string => `${server} ${type} ${body}`;
    const sent = written.map(({ server, type, text }) => key(server, type, text));
    const arrived = logs.map(({ attributes, body }) =>
      key(textOf(attributes['server_name']), textOf(attributes['prom2otlp.log.type']), body),
    );
    expect(sent.length).toBeGreaterThan(1000);
    const known = new Set(sent);
    const keysLate = late.map(({ server, type, text }) => key(server, type, text));
    const mayLack = new Set(keysLate.filter(one => !known.has(one)));
    expect(arrived.filter(one => !mayLack.has(one)).toSorted()).toEqual(sent.toSorted());
    const uids = logs.map(({ attributes }) => textOf(attributes['log.record.uid']));
    expect(new Set(uids).size).toBe(logs.length);
    expect(uids.every(uid => /^[\da-f]{32}$/.test(uid))).toBe(true);
  });

  test('each with its time, severity and attributes', () => {
    const byPlace = Map.groupBy(logs, placeOf);
    const wrong = written.flatMap(record => {
      const found = byPlace.get(`${record.server} ${record.type} ${record.atMs}`) ?? [];
      const same = found.filter(({ body }) => body === record.text);
      return same.length === 1 ? differences(record, same[0]) : [`not one of ${record.text}`];
    });
    expect(wrong.slice(0, 10)).toEqual([]);
  });

  test("each with the Resource of the service's metrics", () => {
    for (const { id, name } of services) {
      const own = logs.filter(({ resource }) => resource['service.instance.id'] === `string ${id}`);
      const [point] = points.filter(({ resource }) => resource['service.instance.id'] === id);
      const resources = new Set(own.map(({ resource }) => sortedText(resource)));
      expect(resources.size, name).toBe(1);
      const [first] = own;
      const plain = Object.entries(first?.resource ?? {}).map(([key, value]) => [
        key,
        textOf(value),
      ]);
      expect(Object.fromEntries(plain), name).toEqual(point?.resource);
      expect(first?.resource).toMatchObject({
        'service.name': `string ${name}`,
        'deployment.environment.name': 'string test',
      });
    }
    expect(new Set(logs.map(({ scope }) => scope))).toEqual(new Set(['prom2otlp/logs']));
  });
});

function placeOf({ attributes, timeUnixNano }: ReceivedLog): string {
  const atMs = BigInt(timeUnixNano) / 1_000_000n;
  return `${textOf(attributes['server_name'])} ${textOf(attributes['prom2otlp.log.type'])} ${atMs}`;
}

function differences(record: Written, received: ReceivedLog | undefined): readonly string[] {
  const { expected, server, type, atMs } = record;
  const attributes: Record<string, string> = {
    ...expected.attributes,
    'log.file.name': `string ${server}/${type}/${new Date(atMs).toISOString().slice(0, 10)}.json`,
    'log.iostream': 'string stderr',
    'log.record.uid': received?.attributes['log.record.uid'] ?? '',
    'prom2otlp.log.type': `string ${type}`,
    server_name: `string ${server}`,
  };
  const wanted = [expected.severityNumber, expected.severityText, expected.eventName];
  const found = [received?.severityNumber, received?.severityText, received?.eventName];
  const isObserved = Number(received?.observedTimeUnixNano) > 0;
  const pairs: readonly (readonly [wanted: string, found: string])[] = [
    [JSON.stringify(wanted), JSON.stringify(found)],
    [sortedText(attributes), sortedText(received?.attributes ?? {})],
    ['observed', isObserved ? 'observed' : 'not observed'],
  ];
  return pairs.filter(([a, b]) => a !== b).map(([a, b]) => `${record.text}: ${b}, not ${a}`);
}

function sortedText(attributes: Readonly<Record<string, string>>): string {
  const entries = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries);
}

/** The value of an attribute without its kind. */
function textOf(value: string | undefined): string {
  return value?.replace(/^\w+ /, '') ?? '';
}
