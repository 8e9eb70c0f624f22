// Alerts with the set-up of deploy/compose: a process of the program pushes its own telemetry over OTLP into a real
// Prometheus, which has the shipped rules. Each alert fires while its cause lasts, and ends after the remedy, although no
// scrape shows that a series is gone.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { start, tempDirectory, until } from '../support/program.ts';
import { Receiver } from '../support/receiver.ts';
import { configFor } from '../support/rig.ts';
import { prometheus } from './parts/prometheus.ts';
import { startJudge } from './support/judge.ts';
import { reasonToSkip } from './support/part.ts';

const skip = await reasonToSkip([prometheus]);
const KEY = 'key-of-the-pushed-alerts-test';
const LOGS = '/observability/v2/logs';
const ALERTS = ['PullFailing', 'QueueFullSoon', 'ConfigurationRefused'] as const;
const WAIT_MS = 180_000;

interface Bridge extends AsyncDisposable {
  readonly simulator: Simulator;
  /** Takes the logs; the metrics go to the Prometheus. */
  readonly receiver: Receiver;
  /** Writes the configuration, with this interval of the metrics. */
  configure(interval: string): string;
  /** Waits until exactly these alerts fire. */
  firing(alerts: readonly string[]): Promise<unknown>;
}

async function openBridge(
  before: (bridge: Pick<Bridge, 'simulator' | 'receiver'>) => void,
): Promise<Bridge> {
  const files = tempDirectory();
  const simulator = await startSimulator({ clock, key: KEY, refreshMs: 1000 });
  const receiver = await Receiver.start();
  before({ simulator, receiver });
  const config = {
    otlp: { translation_strategy: 'UnderscoreEscapingWithoutSuffixes' },
    storage: { tsdb: { out_of_order_time_window: '30m' } },
  };
  const judge = await startJudge({ alerts: ALERTS, config });
  const configure = (interval: string): string =>
    files.write(
      'config.yaml',
      configFor(simulator, {
        metrics: { interval },
        logs: { enabled: true, schedule: '30s', first_start: '6h' },
        otlp: { metrics_endpoint: judge.otlpUrl, logs_endpoint: `${receiver.url}/v1/logs` },
        queue: { directory: join(files.path, 'queue'), logs: { max_bytes: '1MiB' } },
        telemetry: { interval: '1s' },
      }),
    );
  const daemon = start(['run', '--config', configure('5s')]);
  return {
    simulator,
    receiver,
    configure,
    firing: alerts =>
      until(
        `these fire: ${alerts.join(', ') || 'none'}`,
        async () => {
          const names = (await judge.firing()).map(({ alertname = '' }) => alertname);
          return [...new Set(names)].sort().join() === [...alerts].sort().join();
        },
        WAIT_MS,
      ),
    [Symbol.asyncDispose]: async () => {
      await daemon.stop();
      await judge.stop();
      await Promise.all([simulator.close(), receiver.close()]);
      files[Symbol.dispose]();
    },
  };
}

describe.skipIf(skip !== null)('an alert over pushed telemetry fires and ends', () => {
  test('a log API that fails from the start', async () => {
    await using bridge = await openBridge(({ simulator }) =>
      simulator.setFaults({ path: LOGS, status: 500 }),
    );
    await bridge.firing(['PullFailing']);
    bridge.simulator.resetFaults();
    await bridge.firing([]);
    await until('the logs arrive', () => bridge.receiver.logRecords.length > 0, WAIT_MS);
  });

  test('a back end of logs that is down while their queue fills', async () => {
    await using bridge = await openBridge(({ receiver }) => {
      receiver.behave = () => 503;
    });
    await bridge.firing(['QueueFullSoon']);
    expect(bridge.receiver.logRecords).toEqual([]);
    bridge.receiver.behave = () => 200;
    await bridge.firing([]);
    expect(bridge.receiver.logRecords.length).toBeGreaterThan(0);
  });

  test('a changed configuration that cannot be used', async () => {
    await using bridge = await openBridge(() => {});
    await until('the logs arrive', () => bridge.receiver.logRecords.length > 0, WAIT_MS);
    bridge.configure('soon');
    await bridge.firing(['ConfigurationRefused']);
    bridge.configure('5s');
    await bridge.firing([]);
  });
});
