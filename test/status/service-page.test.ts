import { expect, test } from 'vitest';
import { accountReport } from '../../src/status/account-report.ts';
import { renderServicePage, type ServiceLook } from '../../src/status/service-page.ts';
import { ProblemBook } from '../../src/status/problem.ts';
import { type StatusReport, withProblems } from '../../src/status/status-report.ts';
import {
  failedPull,
  lookOf,
  sampleAccount,
  sampleBackups,
  samplePartition,
  samplePull,
  sampleQueue,
  sampleReport,
  sampleSeries,
  sampleService,
  secondsAgo,
  textOf,
} from './sample-report.ts';

function pageOf(
  changes: Partial<StatusReport> = {},
  look: Partial<ServiceLook> = {},
  book?: ProblemBook,
): string {
  const found = lookOf(sampleReport(changes), 'dbpgf1');
  if (found === null) throw new Error('the sample report has this service');
  return renderServicePage(withProblems({ ...found, ...look }, book, true));
}

test('a service that the configuration does not have has no page', () => {
  expect(lookOf(sampleReport(), 'dbother')).toBe(null);
});

test('each series has a row, below its family', () => {
  const series = [
    sampleSeries(),
    sampleSeries({
      name: 'engine_up',
      type: 'gauge',
      typeSource: 'none',
      start: null,
      value: 'NaN',
    }),
    sampleSeries({ family: 'proxy', name: 'proxy_lag', value: { count: 5, sum: 1.5 } }),
    sampleSeries({ name: 'engine_old', outcome: 'time_backwards', changed: null }),
  ];
  const text = textOf(pageOf({}, { series, seriesCount: 7 }));
  expect(text).toContain('engine: 3 series: sum 2 · gauge 1');
  // What all rows share is above the table.
  expect(text).toContain(
    'All: server_name=orders-0 · time 21 s ago Series Value Unit Type From Start Last change Sent',
  );
  expect(text).toContain(
    'engine_queries_total 1234 {query} sum the page 2 h ago 1 min 21 s ago yes',
  );
  expect(text).toContain('engine_up NaN {query} gauge unknown – 1 min 21 s ago yes');
  expect(text).toContain('proxy: 1 series: sum 1');
  expect(text).toContain('count 5, sum 1.5');
  expect(text).toContain('engine_old 1234 {query} sum the page 2 h ago – time backwards');
  expect(text).toContain('3 more; prom2otlp show derive --config FILE has all.');
  expect(textOf(pageOf({}, { series: [], seriesCount: 0 }))).toContain('None has been read yet.');
});

test('series that differ in nothing but their labels are one row', () => {
  const of = (state: string, value: number) =>
    sampleSeries({ name: 'engine_pages', labels: { server_name: 'orders-0', state }, value });
  const series = [of('free', 0), of('dirty', 7), of('misc', 0), of('old', 0)];
  const page = pageOf({}, { series });
  expect(textOf(page)).toContain(
    'engine_pages 3 series alike state=free state=misc state=old 0 {query} sum',
  );
  expect(page.match(/<tr[^>]*><th scope="row">engine_pages/g)).toHaveLength(2);
});

test('problems, logs and backups are those of the service and of what it is read with', () => {
  const log = samplePartition();
  const page = pageOf({
    services: [
      sampleService('dbpgf1', 'orders', { isSourceStale: true }),
      sampleService('dbpgf2', 'payments', { isUp: false, reason: 'absent' }),
    ],
    pulls: [
      samplePull(),
      failedPull('auth', { kind: 'logs' }),
      samplePull({ target: 'elsewhere' }),
    ],
    logs: {
      partitions: [log, { ...log, type: 'slow-log' }, { ...log, service: 'dbpgf2', type: 'audit' }],
      catchUp: [],
      givenUp: [],
      nextPullAt: null,
    },
    backups: {
      services: [sampleBackups(), sampleBackups({ service: 'dbpgf2', name: 'payments' })],
      nextReadAt: null,
    },
    notes: ['a note on the whole'],
  });
  const text = textOf(page);
  expect(text).toContain('key refused by api.example.com');
  expect(text).toContain('orders: its timestamps do not move');
  // Each log has its own line, even if the service has no problem.
  for (const word of ['error-log', 'slow-log', 'scheduled']) expect(text).toContain(word);
  for (const word of ['payments', 'audit', 'elsewhere', 'a note']) expect(text).not.toContain(word);
});

test('a problem that all have keeps its time, and is not forgotten', () => {
  const book = new ProblemBook();
  const services = ['dbpgf1', 'dbpgf2'].map(id => sampleService(id, id, { isSourceStale: true }));
  const at = (seconds: number): Partial<StatusReport> => ({
    services,
    reportedAt: secondsAgo(seconds),
  });
  withProblems(sampleReport(at(60)), book);
  expect(pageOf(at(0), {}, book)).toContain('since 09:29:00');
  expect(pageOf({ ...at(0), services: services.slice(0, 1) }, {}, book)).toContain('09:29:00');
  const [problem] = withProblems(sampleReport(at(0)), book).problems;
  expect(problem?.since).toBe(secondsAgo(60));
});

test('points of other services that wait are no mistake in the account', () => {
  const account = sampleAccount();
  account.add('dbpgf1', 'point/made', 5);
  account.add('dbpgf2', 'point/made', 7);
  const queue = [sampleQueue({ rows: 1, points: 12 })];
  const page = pageOf({ account: accountReport(account), queue });
  expect(textOf(page)).not.toContain('does not balance');
});

test('links lead back, and to the samples as they are now, below any path', () => {
  const page = pageOf();
  expect(page).toContain('<h1><a href="../">prom2otlp</a> / orders</h1>');
  expect(page).toContain('<a href="../status.json">');
  expect(page).not.toMatch(/(?:href|src|action)="\//);
});

test('text of the service becomes no markup', () => {
  const evil = '<script>alert(1)</script>';
  const series = [sampleSeries({ name: evil, unit: evil, labels: { [evil]: evil } })];
  expect(pageOf({}, { series }).match(/<script/g)).toHaveLength(1);
});

test('without metrics, there are no series, and no samples to ask for', () => {
  const text = textOf(pageOf({ targets: [], pulls: [samplePull({ kind: 'logs' })] }));
  expect(text).toContain('metrics not read');
  expect(text).not.toMatch(/Series of the last page|The samples as the service gives them/);
});
