import { describe, expect, test } from 'vitest';
import type { FamilyDrift } from '../../src/catalog/drift.ts';
import { OUTCOME_NAMES } from '../../src/model/series-table.ts';
import { accountReport } from '../../src/status/account-report.ts';
import { DROP_ADVICE, SERVICE_ADVICE } from '../../src/status/scrape-status.ts';
import {
  PROBLEMS_SHOWN_MAX,
  type StatusReport,
  withProblems,
} from '../../src/status/status-report.ts';
import { ProblemBook, type StatusProblem } from '../../src/status/problem.ts';
import { expectWordings } from '../support/wordings.ts';
import {
  failedPull,
  sampleAccount,
  sampleBackups,
  samplePartition,
  samplePull,
  sampleQueue,
  sampleReport,
  sampleSender,
  sampleService,
  sampleTarget,
  secondsAgo,
} from './sample-report.ts';

function findProblems(report: StatusReport, book?: ProblemBook): readonly StatusProblem[] {
  return withProblems(report, book).problems;
}

/** The problems of the sample report with these changes, as `severity subject: message | hint`. */
function told(changes: Partial<StatusReport>): readonly string[] {
  return findProblems(sampleReport(changes)).map(
    ({ severity, subject, message, hint }) => `${severity} ${subject}: ${message} | ${hint}`,
  );
}

test('a report and its problems are one document', () => {
  const report = sampleReport({ notes: ['a key has no effect'] });
  expect(withProblems(report)).toEqual({
    ...report,
    problems: [
      {
        severity: 'note',
        subject: 'prom2otlp',
        message: 'a key has no effect',
        hint: '',
        title: 'prom2otlp: a key has no effect, since 09:30:00',
        headline: 'Note: prom2otlp',
        cause: 'prom2otlp: a key has no effect',
        since: secondsAgo(0),
        lastSeen: secondsAgo(0),
        services: [],
      },
    ],
  });
});

describe('what cannot be read', () => {
  const titles = (...pulls: StatusReport['pulls']): readonly string[] =>
    findProblems(sampleReport({ pulls })).map(({ title }) => title);

  test('is one problem for each origin and reason, whatever it hits', () => {
    const found = findProblems(
      sampleReport({
        pulls: [
          failedPull('auth', { serviceCount: 150 }),
          failedPull('auth', { kind: 'logs', serviceCount: 150, failingSinceAt: secondsAgo(610) }),
          failedPull('auth', { kind: 'backups', serviceCount: 150, lastAttemptAt: secondsAgo(3) }),
          samplePull({ origin: 'other.example.com' }),
        ],
      }),
    );
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({
      severity: 'error',
      subject: 'key refused by api.example.com',
      title:
        'key refused by api.example.com since 09:19:50: metrics of 150 services, logs, backups',
      since: secondsAgo(610),
      lastSeen: secondsAgo(3),
      services: [],
    });
    expect(found[0]?.hint).toMatch(/^Replace the key/);
  });

  test('is a right that the key lacks if the key works for others', () => {
    const found = findProblems(
      sampleReport({
        pulls: [samplePull(), failedPull('auth', { kind: 'logs', isKeyRefused: false })],
      }),
    );
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({
      title: 'the key lacks a right at api.example.com since 09:20:00: logs of 2 services',
      hint: expect.stringContaining('The key works for other requests.'),
    });
  });

  test('is told by its reason, with the names of single services', () => {
    const one = { serviceCount: 1, firstService: 'orders' };
    expect(titles(failedPull('timeout', one), failedPull('timeout', { kind: 'logs' }))).toEqual([
      'no answer within the timeout from api.example.com since 09:20:00: metrics of orders, logs of 2 services',
    ]);
    expect(
      titles(failedPull('server_error', { kind: 'logs' }), failedPull('limit_samples')),
    ).toEqual([
      'server errors from api.example.com since 09:20:00: logs of 2 services',
      'limit_samples at api.example.com since 09:20:00: metrics of 2 services',
    ]);
    const long = { failingSinceAt: '2026-03-02T01:02:03.000Z' };
    expect(titles(failedPull('dns', long))[0]).toContain('since 2026-03-02 01:02:03:');
  });

  test('is not reported again for each service', () => {
    const message = 'cannot get https://api.example.com/x: it failed';
    const isDown = (reason: string): Partial<StatusReport['services'][number]> => ({
      isUp: false,
      reason,
    });
    const lines = told({
      pulls: [failedPull('refused'), failedPull('refused', { kind: 'backups' })],
      targets: [sampleTarget({ state: 'down', lastReason: 'refused' })],
      services: [
        sampleService('a', 'orders', isDown('refused')),
        sampleService('b', 'payments', isDown('absent')),
      ],
      backups: { services: [sampleBackups({ isUp: false, lastError: message })], nextReadAt: null },
    });
    expect(lines.map(line => line.split(':')[0])).toEqual([
      'error connection refused by api.example.com',
      'error payments',
    ]);
  });
});

describe('a cause that hits many services', () => {
  const absent = { isUp: false, reason: 'absent' } as const;
  const services = Array.from({ length: 150 }, (_, i) =>
    sampleService(`db${i}`, `service ${i}`, i === 7 ? {} : absent),
  );

  test('is one problem that names some', () => {
    const [found, ...more] = findProblems(sampleReport({ services }));
    expect(more).toEqual([]);
    expect(found?.subject).toBe('149 services');
    expect(found?.services).toHaveLength(20);
    expect(found?.services[0]).toBe('service 0');
  });

  test('counts of single services are left out', () => {
    const dropped = [3, 5].map(count =>
      sampleService(`db${count}`, `s${count}`, { droppedByReason: { time_conflict: count } }),
    );
    expect(told({ services: dropped })[0]).toContain(
      'warning 2 services: samples of the last page dropped: with another value for a time',
    );
  });
});

test('the book knows since when, and forgets what has ended', () => {
  const book = new ProblemBook();
  const stale = [sampleService('a', 'orders', { isSourceStale: true })];
  const sinceAt = (seconds: number, services = stale): readonly string[] => {
    const report = sampleReport({ services, reportedAt: secondsAgo(-seconds) });
    return findProblems(report, book).map(({ since, lastSeen }) => `${since} ${lastSeen}`);
  };
  expect(sinceAt(0)).toEqual([`${secondsAgo(0)} ${secondsAgo(0)}`]);
  expect(sinceAt(60)).toEqual([`${secondsAgo(0)} ${secondsAgo(-60)}`]);
  expect(sinceAt(70, [])).toEqual([]);
  expect(sinceAt(80)).toEqual([`${secondsAgo(-80)} ${secondsAgo(-80)}`]);
});

test('clocks that differ by minutes are reported, with the direction', () => {
  const about = (clockSkewMs: number | null): readonly string[] =>
    told({ targets: [sampleTarget({ name: 'x', clockSkewMs })] });
  expectWordings('problems: a clock that is ahead', about(3 * 86_400_000));
  expectWordings('problems: a clock that is behind', about(-6 * 60_000));
  expect(about(5 * 60_000 + 1)).toHaveLength(1);
  for (const fine of [null, 0, 5 * 60_000, -5 * 60_000]) expect(about(fine)).toEqual([]);
});

test('types that contradict the catalog and damaged names are notes; new names are not', () => {
  const list = <Item>(...items: Item[]): { count: number; items: Item[] } => ({
    count: items.length,
    items,
  });
  const engine: FamilyDrift = {
    appeared: list('engine_new'),
    vanished: list('engine_old'),
    contradicted: list({ name: 'engine_up', declared: 'counter' as const }),
    mangled: list({ name: 'engine.up', original: 'engine_up' }),
  };
  const about = (drift: FamilyDrift): readonly (string | undefined)[] =>
    told({ targets: [sampleTarget({ name: 'x', drift: { engine: drift } })] }).map(
      line => line.split(' | ')[0],
    );
  const contradiction =
    "note x: 1 series of engine with another type on the page than in the catalog; the catalog's type is sent";
  const damage = 'note x: 1 series of engine with a damaged name';
  expect(about(engine)).toEqual([contradiction, damage]);
  expect(about({ ...engine, mangled: list() })).toEqual([contradiction]);
  expect(about({ ...engine, contradicted: list() })).toEqual([damage]);
});

test('every advice belongs to an existing reason', () => {
  for (const reason of Object.keys(DROP_ADVICE)) expect(OUTCOME_NAMES).toContain(reason);
  for (const advice of [...Object.values(DROP_ADVICE), ...Object.values(SERVICE_ADVICE)]) {
    expect(advice.message).toMatch(/[^.]$/);
    expect(advice.hint).toMatch(/^[A-Z].*\.$/);
  }
});

const account = sampleAccount();
account.add('dbpgf1', 'point/made', 17);
account.add('dbpgf1', 'point/rejected', 4);
account.add('dbpgf1', 'point/set_aside', 8);
account.add('dbpgf1', 'point/evicted', 5);
const waitingAccount = sampleAccount();
waitingAccount.add('dbpgf1', 'point/made', 3788);
const waiting = {
  queue: [sampleQueue({ points: 3788 })],
  account: accountReport(waitingAccount),
};
const failing = sampleSender({ state: 'retrying', lastError: 'the back end answered 503' });
const setAside = {
  signal: 'metrics' as const,
  service: 'dbpgf1',
  points: 8,
  reason: 'the back end answered 400: out of order',
  at: secondsAgo(60),
};
const firstProblem = { line: 12, column: 7, reason: 'expected a value' };
const unconfigured = Array.from({ length: 50 }, (_, i) => ({
  id: `x${i}`,
  samples: 2,
  isSent: false,
}));
const unconfiguredRest = { services: 14_950, samples: 29_900 };

test.each<[what: string, changes: Partial<StatusReport>]>([
  [
    'a service that is down for a reason without its own text',
    { services: [sampleService('a', 'orders', { isUp: false, reason: 'something_new' })] },
  ],
  [
    'lines that cannot be read: they are counted, the first is shown',
    { targets: [sampleTarget({ name: 'x', badLines: 1, firstProblem })] },
  ],
  [
    'a service whose samples do not move, and one whose samples are dropped',
    {
      services: [
        sampleService('a', 'orders', { isSourceStale: true, lostUptimes: 2 }),
        sampleService('b', 'payments', { droppedByReason: { time_conflict: 2, excluded: 100 } }),
      ],
    },
  ],
  [
    'an unconfigured service that is sent',
    { unconfigured: [{ id: 'x', samples: 1, isSent: true }] },
  ],
  [
    'a service that is not on the page, and one that was probably meant',
    {
      services: [sampleService('dbpgf1', 'orders', { isUp: false, reason: 'absent' })],
      unconfigured: [{ id: 'dbpgf2', samples: 12, isSent: false }],
    },
  ],
  ['an unconfigured service', { unconfigured: [{ id: 'dbother', samples: 1588, isSent: false }] }],
  [
    'an unconfigured service, after a page that could not be read',
    { unconfigured: [{ id: 'dbother', samples: 0, isSent: false }] },
  ],
  ['many that no entry names: they are one note', { unconfigured, unconfiguredRest }],
  [
    'many that no entry names, and that are sent',
    { unconfigured: unconfigured.map(one => ({ ...one, isSent: true })), unconfiguredRest },
  ],
  [
    'series that were refused, by family and count',
    {
      targets: [
        sampleTarget({
          refused: { limits: ['series'], samples: 1203, families: { engine_x: 1200, engine_y: 3 } },
        }),
      ],
    },
  ],
  [
    'a limit for which the memory does not suffice',
    { memoryWarnings: ['metrics.limits.body is 512 MiB'] },
  ],
  [
    'a back end that does not accept, with the queued amount and its age',
    { senders: [{ ...failing, nextAttemptAt: secondsAgo(-9) }], ...waiting },
  ],
  ['a back end whose next attempt is due', { senders: [failing], ...waiting }],
  ['an error of the past', { senders: [{ ...failing, state: 'idle' }] }],
  ['a queue that cannot be written', { queueTrouble: 'cannot store a batch: disk I/O error' }],
  [
    'a changed configuration that is not used',
    { reload: { at: secondsAgo(9), mistakes: ['c.yaml:1:2: a: unknown key', 'b'], restart: [] } },
  ],
  [
    'a changed configuration that is used',
    { reload: { at: secondsAgo(9), mistakes: [], restart: [] } },
  ],
  [
    'a changed key that needs a restart',
    { reload: { at: secondsAgo(9), mistakes: [], restart: ['queue.directory'] } },
  ],
  [
    'less than four fifths of a queue',
    { queue: [sampleQueue({ bytes: 799, maxBytes: 1000, roomBytes: 1000 })] },
  ],
  [
    'four fifths of the queue of metrics',
    { queue: [sampleQueue({ bytes: 800, maxBytes: 1000, roomBytes: 1000 })] },
  ],
  [
    'nearly all of the queue of logs',
    { queue: [sampleQueue({ signal: 'logs', bytes: 999, maxBytes: 1000, roomBytes: 1000 })] },
  ],
  [
    'losses, as long as the account has them',
    { account: accountReport(account), setAside: [setAside] },
  ],
  ['an account that does not balance: a bug', { queue: [sampleQueue({ points: 1 })] }],
  ['a healthy daemon', {}],
  [
    'a daemon that waits for its first page',
    { targets: [sampleTarget({ state: 'waiting' })], state: 'starting' },
  ],
  [
    'logs and backups that cannot be read',
    {
      logs: {
        partitions: [
          samplePartition({
            service: 'orders',
            state: 'failed',
            lastError: 'cannot list the logs',
          }),
          samplePartition({ service: 'orders', lastError: 'cannot list the logs' }),
        ],
        catchUp: [],
        givenUp: [
          {
            at: '2026-03-04T09:00:00.000Z',
            service: 'orders',
            type: 'audit-log',
            archive: 'a1',
            reason: 'checksum',
          },
        ],
        nextPullAt: null,
      },
      backups: {
        services: [
          sampleBackups(),
          sampleBackups({ name: 'a', isRestorableScheduled: false }),
          sampleBackups({
            name: 'b',
            isRestorableScheduled: null,
            lastError: 'cannot read',
            hint: 'look',
          }),
        ],
        nextReadAt: null,
      },
    },
  ],
])('%s', (what, changes) => {
  expectWordings(`problems: ${what}`, told(changes));
});

test('the worst comes first, and the list is bounded', () => {
  const services = Array.from({ length: PROBLEMS_SHOWN_MAX + 20 }, (_, i) =>
    sampleService(`db${i}`, `service ${i}`, { isUp: false, reason: `reason ${i}` }),
  );
  const lines = told({ services, pulls: [failedPull('dns')], notes: ['a note'] });
  expect(lines.length).toBe(PROBLEMS_SHOWN_MAX + 1);
  expect(lines[0]).toContain('error no address found for api.example.com:');
  expect(lines.at(-1)).toBe('note prom2otlp: 22 more are not listed here | ');
});
