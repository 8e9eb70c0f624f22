import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { Throttle } from '../../src/lib/throttle.ts';
import { openQueue } from '../../src/pipeline/queue/open-queue.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { instanceId, OWN_SERVICE, startTelemetry } from '../../src/status/own-telemetry.ts';
import { saneMetrics } from '../support/wire-sanity.ts';
import { otlpPoints } from '../support/otlp-points.ts';

function configOf(changes: Readonly<Record<string, unknown>> = {}): Config {
  const text = JSON.stringify({
    api: { base_url: 'https://a', key: 'k' },
    services: [{ id: 'x' }],
    queue: { directory: null },
    ...changes,
  });
  return parseConfig(text, { file: '/etc/prom2otlp.yaml', environment: {} });
}

test('counts are queued as a separate service, and the account balances', async () => {
  const config = configOf();
  const counters = new Counters();
  counters.counter('prom2otlp_x_total', 'X.', ['a']).add(7, 'b');
  const queue = await openQueue({ config, clock, counters: new Counters(), logger: silentLogger });
  const throttle = new Throttle({ clock });
  const telemetry = startTelemetry({
    config,
    clock,
    counters,
    logger: silentLogger,
    throttle,
    queue,
  });
  await telemetry.close();
  const [row] = await queue.oldest('metrics', 1, new Set());
  const points = otlpPoints(saneMetrics(gunzipSync(row?.body ?? Buffer.alloc(0))));
  expect(points.filter(({ metric }) => metric === 'prom2otlp_x_total')).toMatchObject([
    { serviceName: 'prom2otlp', attributes: 'a=b', value: 7, type: 'sum' },
  ]);
  expect(points[0]?.resource).toMatch(
    /^service\.instance\.id=[^,]+:\/etc\/prom2otlp\.yaml,service\.name=prom2otlp,service\.version=/,
  );
  expect(row?.parts).toMatchObject([{ service: OWN_SERVICE, points: points.length, offset: 0 }]);
  expect(queue.account.get(OWN_SERVICE, 'point/made')).toBe(points.length);
  expect(queue.account.queued(OWN_SERVICE)).toBe(points.length);
  await queue.close();
});

test('a failed commit is reported, and affects nothing else', async () => {
  const config = configOf();
  const causes: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void causes.push(fields) };
  const commit: Queue['commit'] = () => Promise.resolve({ kind: 'failed', message: 'disk full' });
  const queue = { commit } as unknown as Queue;
  const throttle = new Throttle({ clock });
  const counters = new Counters();
  await startTelemetry({ config, clock, counters, logger, throttle, queue }).close();
  expect(causes).toEqual([{ cause: 'disk full', swallowedCount: 0 }]);
});

test('an installation keeps its id, and no two have the same', () => {
  const check = (changes: Readonly<Record<string, unknown>>, want: string): void => {
    expect(instanceId(configOf(changes), 'db-host')).toBe(want);
  };
  check({}, 'db-host:/etc/prom2otlp.yaml');
  check({ queue: { directory: '/var/lib/prom2otlp' } }, 'db-host:/var/lib/prom2otlp');
  check({ shard: { index: 1, count: 3 } }, 'db-host:/etc/prom2otlp.yaml#1');
});
