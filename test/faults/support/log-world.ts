// A bridge that pulls logs, repeatedly on one directory, with a service whose logs are written at random and a back end
// that keeps them. Service and back end remember everything, so that a test can check every line at the end.

import { setTimeout as sleep } from 'node:timers/promises';
import { LogBook, type LogPlace } from '../../support/log-book.ts';
import { run, start, tempDirectory, until } from '../../support/program.ts';
import { Receiver } from '../../support/receiver.ts';
import { configFor } from '../../support/rig.ts';
import { startFaultySimulator, type FaultySimulator } from '../../support/faulty-simulator.ts';
import {
  type Delivered,
  MINUTE,
  recordsOf,
  SERVICES,
  ShiftedClock,
} from '../../support/log-site.ts';

const PLACES: readonly LogPlace[] = [
  { serviceId: 'dbpgf1', server: 'orders-0', type: 'error-log' },
  { serviceId: 'dbpgf1', server: 'orders-0', type: 'slow-query-log' },
  { serviceId: 'dbpgf1', server: 'orders-1', type: 'audit-log' },
  { serviceId: 'dbpgf2', server: 'ledger-0', type: 'error-log' },
];

/** A time shortly before midnight UTC, so that the day changes soon. */
const START = Date.UTC(2026, 2, 4, 22, 30);

export interface LogWorldOptions {
  readonly logs: object;
  readonly faults?: object;
}

export class LogWorld implements AsyncDisposable {
  readonly book: LogBook;
  /** The service's clock, which differs much from the machine's; the test sets it forward. */
  readonly clock: ShiftedClock;
  readonly simulator: FaultySimulator;
  readonly receiver: Receiver;
  /** Requests that were accepted without an answer. */
  lostAnswers = 0;
  #number = 0;
  readonly #files = tempDirectory();
  readonly #config: string;

  private constructor(
    simulator: FaultySimulator,
    receiver: Receiver,
    { book, clock, logs }: Pick<LogWorld, 'book' | 'clock'> & { readonly logs: object },
  ) {
    this.simulator = simulator;
    this.receiver = receiver;
    this.book = book;
    this.clock = clock;
    const text = configFor(simulator, {
      api: { base_url: simulator.url, key: simulator.key, timeout: '5s' },
      metrics: { enabled: false },
      logs: { enabled: true, schedule: '30s', first_start: '2d', redact_literals: false, ...logs },
      otlp: { endpoint: receiver.url, timeout: '5s' },
      queue: { directory: `${this.#files.path}/queue` },
      log: { level: 'error' },
    });
    this.#config = this.#files.write('c.yaml', text);
  }

  /** `logs` are keys of the configuration. */
  static async start({ logs, faults = {} }: LogWorldOptions): Promise<LogWorld> {
    const [book, clock] = [new LogBook(SERVICES), new ShiftedClock(START)];
    const place = { clock, key: 'test-key', services: SERVICES, logs: book };
    const simulator = await startFaultySimulator(place);
    simulator.setFaults(faults);
    return new LogWorld(simulator, await Receiver.start(), { book, clock, logs });
  }

  /** Starts a process, and kills it at the failpoint, or `lifeMs` after its first request to the service. */
  async liveAndDie(failpoint: string | null, lifeMs: number): Promise<void> {
    const environment: Record<string, string> =
      failpoint === null ? {} : { PROM2OTLP_FAILPOINT: failpoint };
    const before = this.simulator.requests.count;
    const life = start(['run', '--config', this.#config], environment);
    // Waits for the first request, so that the duration of the start does not count.
    const isAsked = (): boolean => life.hasEnded || this.simulator.requests.count > before;
    await until('the first request', isAsked, 60_000);
    await Promise.race([life.finished, sleep(lifeMs)]);
    await life.kill();
  }

  /** Runs one whole cycle, and returns its exit code and log lines. */
  async once(): Promise<readonly [code: number | null, lines: readonly string[]]> {
    const { code, stderr } = await run(['once', '--config', this.#config]);
    return [code, stderr.split('\n').filter(line => line !== '')];
  }

  /** Accepts the next request and breaks the connection off within the answer. */
  loseAnswer(): void {
    this.lostAnswers++;
    this.receiver.behave = () => {
      this.receiver.behave = () => 200;
      return 'cut';
    };
  }

  /** Writes `count` records of all kinds: some of them late, some in the archive of their own, earlier time. */
  write(count: number, random: () => number, isLateMs: number): void {
    for (let i = 0; i < count; i++) {
      const place = PLACES[Math.floor(random() * PLACES.length)] ?? PLACES[0];
      if (place === undefined) return;
      const lateMs = random() < 0.2 ? random() * isLateMs : 0;
      const atMs = Math.floor(this.clock.nowMs() - MINUTE - lateMs);
      for (const text of linesOf(place.type, this.#number++, atMs))
        this.book.write(place, { text, atMs }, random() < 0.1 ? atMs : this.clock.nowMs() - MINUTE);
    }
  }

  /** The accepted requests in order, including those whose answer was lost. */
  get requests(): readonly Buffer[] {
    return this.receiver.logBodies;
  }

  /** Every record that arrived, once for each different request that contained it. */
  get delivered(): readonly Delivered[] {
    const distinct = new Map(this.requests.map(body => [body.toString('latin1'), body]));
    return [...distinct.values()].flatMap(recordsOf);
  }

  /** How many of the requests were repetitions of an earlier one. */
  get repeatedRequests(): number {
    return this.requests.length - new Set(this.requests.map(body => body.toString('latin1'))).size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.simulator.close();
    await this.receiver.close();
    this.#files[Symbol.dispose]();
  }
}

/** The lines of a record in the format of the real log, with the number of the record. */
function linesOf(type: string, number: number, atMs: number): readonly string[] {
  const stamp = new Date(atMs).toISOString();
  const [date, time] = [stamp.slice(0, 10), stamp.slice(11, 19)];
  const short = date.replaceAll('-', '').slice(2);
  if (type === 'audit-log')
    return [
      `${date.replaceAll('-', '')} ${time},db,app,10.0.0.9,7,${number},QUERY,shop,'select ${number}',0`,
    ];
  if (type === 'slow-query-log')
    return [
      `# Time: ${short} ${time}`,
      '# User@Host: app[app] @ web-1 [10.0.0.9]',
      `# Thread_id: ${number}  Schema: shop  QC_hit: No`,
      '# Query_time: 2.000215  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210',
      `SET timestamp=${Math.floor(atMs / 1000)};`,
      `SELECT '${number}', "ü"`,
      `  FROM orders_${number};`,
    ];
  const head = `${date} ${time.replace(/^0/, ' ')} ${number} [Note] line ${number}`;
  return number % 5 === 0 ? [head, `  at frame ${number}`, `\tat frame ${number + 1}`] : [head];
}
