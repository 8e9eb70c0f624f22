// The sums of slow queries over kills: the process is killed again and again while it reads a growing log of a known
// mix of statements. At the end the last point of each digest is the truth, statement by statement and to the
// microsecond, also when the service has rewritten what was read.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { fingerprintOf } from '../../src/logs/digests/fingerprint.ts';
import { redactSql } from '../../src/logs/formats/redact.ts';
import { zip } from '../../src/simulator/logs-endpoint.ts';
import { type Handler, startHttpServer } from '../support/http-server.ts';
import { start, tempDirectory, until } from '../support/program.ts';
import { randomNumbers } from '../support/random.ts';
import { Receiver } from '../support/receiver.ts';

const STATEMENTS = Number(process.env['DIGEST_STATEMENTS'] ?? 5000);
const KILLS = Number(process.env['DIGEST_KILLS'] ?? 8);
const SERVICE = 'dbdigest01';
const WAIT_MS = 240_000;

/** Kinds of statements, with the share of each; literals differ each time. */
const MIX: readonly (readonly [weight: number, statement: (n: number) => string])[] = [
  [40, n => `select * from orders where id = ${n}`],
  [20, n => `select name from customers where mail = 'a${n}@example.com'`],
  [
    15,
    n =>
      `insert into lines values ${Array.from({ length: (n % 3) + 1 }, () => `(${n}, 'x')`).join(', ')}`,
  ],
  [10, n => `update stock set n = n - ${n} where item in (${n}, ${n + 1})`],
  [10, n => `SELECT  count( * )\n from orders o join lines l on o.id = l.id where o.day > '${n}'`],
  [
    5,
    n =>
      `delete from carts where age > ${n} /*traceparent='00-${'a'.repeat(32)}-${'b'.repeat(16)}-01'*/`,
  ],
];

const NAMES = ['executions', 'seconds', 'lock_seconds', 'rows_examined', 'rows_sent', 'bytes_sent'];

const HEADER = [
  '# User@Host: app[app] @ web-1 [10.0.0.9]',
  '# Thread_id: 75  Schema: shop  QC_hit: No',
];

/** Writes a log, and keeps the true sums by digest, in the order of NAMES. */
class Writer {
  text = '';
  count = 0;
  readonly truth = new Map<string, number[]>();
  readonly #random = randomNumbers('digests');
  readonly #startMs = Date.now() - 3_600_000;

  /** The time of the next statement, in seconds. */
  get clockS(): number {
    return Math.floor((this.#startMs + (this.count * 3_000_000) / STATEMENTS) / 1000);
  }

  write(count: number): void {
    for (let i = 0; i < count; i++) this.#one();
  }

  #one(): void {
    const at = this.#random() * MIX.reduce((sum, [weight]) => sum + weight, 0);
    let sum = 0;
    const [, make = () => ''] = MIX.find(([weight]) => (sum += weight) > at) ?? [];
    const statement = make(this.count);
    const micros = Math.floor(this.#random() ** 3 * 5e6);
    const numbers = [this.count % 50, this.count % 7, this.count % 900] as const;
    const [examined, sent, bytes] = numbers;
    const numbersText = `Rows_sent: ${sent}  Rows_examined: ${examined}`;
    this.text += [
      ...HEADER,
      `# Query_time: ${(micros / 1e6).toFixed(6)}  Lock_time: 0.000031  ${numbersText}`,
      `# Rows_affected: 0  Bytes_sent: ${bytes}`,
      `SET timestamp=${this.clockS};`,
      `${statement};`,
      '',
    ].join('\n');
    const { digest } = fingerprintOf(redactSql(statement));
    const sums = this.truth.get(digest) ?? NAMES.map(() => 0);
    const own = [1, micros / 1e6, 0.000031, examined, sent, bytes];
    this.truth.set(
      digest,
      sums.map((sum, i) => sum + (own[i] ?? 0)),
    );
    this.count++;
  }
}

/** A service with one archive, which has the text at the time of a request. */
function answerWith(text: () => string): Handler {
  const startTime = new Date(Date.now() - 3_600_000).toISOString();
  const item = { name: 'slow.log', logType: 'slow-query-log', server: 'db-0', service: SERVICE };
  return ({ path }, response) => {
    const [where = ''] = path.split('?');
    const bytes = Buffer.from(text());
    if (where.endsWith('/metrics')) response.end(`engine_up{namespace="${SERVICE}"} 1\n`);
    else if (where.endsWith('/archive')) response.end(zip([{ name: 'slow.log', bytes }]));
    else {
      const logs = [{ ...item, id: 'slow', size: bytes.length, startTime }];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ count: 1, logs }));
    }
  };
}

test(`${KILLS} kills neither lose nor double one of ${STATEMENTS} statements`, async () => {
  const writer = new Writer();
  const random = randomNumbers('kills of digests');
  // The last record of a log is read when the next one begins.
  let served = '';
  await using service = await startHttpServer(answerWith(() => served));
  await using receiver = await Receiver.start();
  using files = tempDirectory();
  const config = files.write(
    'prom2otlp.yaml',
    JSON.stringify({
      api: { base_url: service.origin, key: 'k' },
      services: [{ id: SERVICE }],
      metrics: { enabled: false },
      logs: {
        enabled: true,
        types: ['slow-query-log'],
        schedule: '30s',
        first_start: '2d',
        slow_query: { digests: { enabled: true } },
      },
      otlp: { endpoint: receiver.url },
      queue: { directory: `${files.path}/queue` },
      status: { listen: '127.0.0.1:0' },
      telemetry: { enabled: false },
    }),
  );

  for (let life = 0; life < KILLS; life++) {
    writer.write(Math.floor(STATEMENTS / (KILLS + 1)));
    served = life % 4 === 3 ? writer.text.replace('web-1', 'web-2') : writer.text;
    const daemon = start(['run', '--config', config]);
    await daemon.ready();
    const arrived = receiver.logRecords.length;
    // Some lives end in the middle of a log, after its first chunk.
    if (life % 2 === 1) await until('a chunk', () => receiver.logRecords.length > arrived);
    else await sleep(random() * 1200);
    await daemon.kill();
  }
  writer.write(STATEMENTS - writer.count);
  const { truth, count } = writer;
  // The points of the last statement wait for a later one, and that for the beginning of another.
  const closing = [
    ...HEADER,
    '# Query_time: 1.0',
    `SET timestamp=${writer.clockS + 9};`,
    'commit;\n',
  ].join('\n');
  served = writer.text + closing + closing;
  const daemon = start(['run', '--config', config]);
  const sums = () => lastSums(receiver);
  const counted = (): number => [...sums().values()].reduce((all, [one = 0]) => all + one, 0);
  await until('all statements', () => counted() > count, WAIT_MS);
  await daemon.stop();
  truth.set(fingerprintOf('commit').digest, [1, 1, 0, 0, 0, 0]);

  expect([...sums().keys()].sort()).toEqual([...truth.keys()].sort());
  for (const [digest, expected] of truth)
    for (const [i, name] of NAMES.entries())
      expect(sums().get(digest)?.[i], `${name} of ${digest}`).toBeCloseTo(expected[i] ?? 0, 5);
  const texts = receiver.logRecords.filter(
    ({ eventName }) => eventName === 'prom2otlp.query_digest',
  );
  const told = texts.flatMap(({ attributes = [] }) =>
    attributes.flatMap(({ key, value }) => (key === 'digest' ? [value?.stringValue ?? ''] : [])),
  );
  expect([...new Set(told)].sort()).toEqual([...truth.keys()].sort());
  console.log(`${count} statements, ${KILLS} kills: ${counted()} counted in ${truth.size} digests`);
}, 600_000);

/** The last value of each sum, by digest, in the order of NAMES. */
function lastSums(receiver: Receiver): ReadonlyMap<string, readonly number[]> {
  const sums = new Map<string, number[]>();
  for (const { metric, attributes, value } of receiver.points) {
    const i = NAMES.findIndex(name => metric === `prom2otlp_slow_query_${name}_total`);
    if (i < 0) continue;
    const [, digest = ''] = /(?:^|,)digest=(\w+)/.exec(attributes) ?? [];
    const own = sums.get(digest) ?? [];
    own[i] = Number(value);
    sums.set(digest, own);
  }
  return sums;
}
