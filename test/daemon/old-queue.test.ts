// A queue file of an earlier version: test/fixtures/queue holds one, made at 96c5eb95 by `run` with the simulated service
// `sessions` and no back end, and stopped by SIGTERM. It has rows of metrics and logs, the account, and every kind of state
// that the version knew. This version opens it and sends its rows.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../src/config/load.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { QueueView } from '../../src/pipeline/queue/queue-view.ts';
import { Receiver } from '../support/receiver.ts';
import { recordingLogger } from '../support/recording-logger.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const OLD = join(import.meta.dirname, '../fixtures/queue/96c5eb95.sqlite');
const SERVICE = 'dbpgf10000004';
/** What waits in the file. */
const WAITING = { metrics: 693, logs: 6 };

/** A copy of the old queue, in a directory of its own. */
function oldQueue(): string {
  const directory = temporaryDirectory();
  copyFileSync(OLD, join(directory, 'queue.sqlite'));
  return directory;
}

test('its rows and its account can be looked at', () => {
  const view = QueueView.open(oldQueue());
  onTestFinished(() => view.close());
  const pointsOf = (signal: 'metrics' | 'logs'): number =>
    view.heads(signal).reduce((sum, { parts }) => sum + (parts[0]?.points ?? 0), 0);
  expect({ metrics: pointsOf('metrics'), logs: pointsOf('logs') }).toEqual(WAITING);
  expect(view.account().total().get('point/made')).toBe(WAITING.metrics + WAITING.logs);
});

test('a daemon opens it, knows its services without the API, and sends its rows', async () => {
  const directory = oldQueue();
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  // The address under which the old version kept the list of services; nobody listens there.
  const api = { base_url: 'http://127.0.0.1:9471', key: 'k', timeout: '1s' };
  const text = JSON.stringify({
    api,
    services: 'auto',
    logs: { enabled: true },
    backups: { enabled: true },
    otlp: { endpoint: receiver.url },
    // The rows are as old as the fixture.
    queue: { directory, metrics: { max_age: '3650d' } },
    telemetry: { enabled: false },
  });
  const { log, logger } = recordingLogger();
  const config = parseConfig(text, { file: 'test', environment: {} });
  const daemon = await Daemon.open({ config, clock, logger });
  expect(daemon.config.services.map(({ id }) => id)).toEqual([SERVICE]);
  daemon.start();
  await expect
    .poll(() => daemon.queue.size('logs').rows + daemon.queue.size('metrics').rows)
    .toBe(0);
  await daemon.stop(new AbortController().signal);

  expect(receiver.logRecords).toHaveLength(WAITING.logs);
  // Beside them, there are the points of scrapes that fail now.
  const total = daemon.queue.account.total();
  expect(receiver.points.length).toBeGreaterThanOrEqual(WAITING.metrics);
  expect(total.get('point/accepted')).toBe(receiver.points.length + receiver.logRecords.length);
  expect(total.get('point/made')).toBe(total.get('point/accepted'));
  expect(log.filter(({ msg }) => String(msg).includes('damaged'))).toEqual([]);
});
