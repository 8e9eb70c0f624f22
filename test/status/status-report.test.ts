// The report of a daemon that does not run yet, which follows from its configuration and its schedule.

import { expect, test } from 'vitest';
import { Daemon } from '../../src/daemon/daemon.ts';
import { silentLogger as logger } from '../../src/lib/log.ts';
import { reportOf, type StatusReport } from '../../src/status/status-report.ts';
import { Queue } from '../../src/pipeline/queue/queue.ts';
import { put, queueOptions } from '../pipeline/queue/queue-behaviour.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { testConfig } from '../support/test-api.ts';

async function reportWith(changes: object): Promise<StatusReport> {
  const clock = new FakeClock();
  // The daemon does not start at time 0 of its clock.
  await clock.advance(10_000);
  const daemon = await Daemon.open({ config: testConfig(changes), clock, logger });
  const report = await reportOf(daemon, clock, null);
  await daemon.stop(AbortSignal.abort());
  return report;
}

test('queues and senders are those of the signals that are sent', async () => {
  const check = async (changes: object, signals: readonly string[]): Promise<void> => {
    const { queue, senders } = await reportWith(changes);
    expect(queue.map(({ signal }) => signal)).toEqual(signals);
    expect(senders.map(({ signal }) => signal)).toEqual(signals);
  };
  const isOff = { enabled: false };
  const isOn = { enabled: true };
  await check({}, ['metrics']);
  await check({ logs: isOn }, ['metrics', 'logs']);
  await check({ metrics: isOff, logs: isOn }, ['logs']);
  // Backup schedules are sent as both signals.
  await check({ metrics: isOff, backups: isOn }, ['metrics', 'logs']);
  // Own telemetry is sent as metrics, and so are the rows that an earlier configuration has left.
  await check({ metrics: isOff, logs: isOn, telemetry: isOn }, ['metrics', 'logs']);
  const directory = temporaryDirectory();
  const queue = Queue.open(queueOptions(), directory);
  await put(queue, { a: 1 });
  await queue.close();
  await check({ metrics: isOff, logs: isOn, queue: { directory } }, ['metrics', 'logs']);
});

test('URLs are shown without their query, which may hold a secret', async () => {
  const report = await reportWith({
    metrics: { path: '/m?token=canary' },
    otlp: { metrics_endpoint: 'http://127.0.0.1:1/v1/metrics?api_key=canary' },
  });
  expect(report.targets.map(({ url }) => url)).toEqual(['http://127.0.0.1:1/m']);
  expect(JSON.stringify(report)).not.toContain('canary');
});

test('the first scrape of the only target is due at once', async () => {
  const { targets, reportedAt } = await reportWith({});
  expect(targets.map(({ nextScrapeAt }) => nextScrapeAt)).toEqual([reportedAt]);
});
