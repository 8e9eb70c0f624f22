// The log lines about a target's pages are bounded, whatever the pages hold.

import { expect, test } from 'vitest';
import { HOST_TABLES } from '../../src/catalog/host.ts';
import { ThrottledLog } from '../../src/lib/log.ts';
import { defaultConfig } from '../../src/config/load.ts';
import type { Target as PlannedTarget } from '../../src/pipeline/collect/plan-targets.ts';
import { TargetLog } from '../../src/daemon/target-log.ts';
import { pageOf } from '../support/decode-page.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { recordingLogger } from '../support/recording-logger.ts';
import { type Seen, Target, type TargetOptions } from '../support/target.ts';

function logged(options: TargetOptions, texts: readonly string[]): Record<string, unknown>[] {
  const { logger, log: lines } = recordingLogger();
  const planned = { name: 'api.example.com (db1)' } as PlannedTarget;
  const log = new TargetLog(planned, new ThrottledLog(logger, new FakeClock()));
  const target = new Target(options);
  for (const [i, text] of texts.entries()) {
    const { translated }: Seen = target.page(i * 60, text);
    log.note({ kind: 'page', page: pageOf(text) }, translated);
  }
  return lines;
}

test('thousands of services that no entry names, gone with the next page, are one line', () => {
  const page = (number: number): string =>
    Array.from({ length: 1000 }, (_, i) => `a{namespace="x${number}_${i}"} 1\n`).join('');
  const options = { services: ['db1'], unconfigured: 'send' } as const;
  const lines = logged(options, [`${page(0)}a{namespace="db1"} 1\n`, page(1)]);
  expect(lines.map(({ level, msg }) => `${String(level)} ${String(msg)}`)).toEqual([
    'warn the service is down on a page that is good',
    'warn services that no entry names are down on a page that is good; the first is named',
  ]);
  expect(lines[0]).toMatchObject({ service: 'db1', reason: 'absent' });
  expect(lines[1]).toMatchObject({ services: 1000, first: 'x0_0', reason: 'absent' });
});

test('refused series are told by family and count, never by the value of a label', () => {
  const { limits, ...metrics } = defaultConfig().metrics;
  const options = { metrics: { ...metrics, limits: { ...limits, series: 3 } } };
  const page = ['a', 'a', 'a', 'b', 'b', 'c', 'b']
    .map((name, i) => `${name}{user="secret-${i}"} 1\n`)
    .join('');
  const lines = logged(options, [page, page]);
  expect(lines).toHaveLength(1);
  expect(lines[0]?.['msg']).toMatch(/^new series are dropped/);
  expect(lines[0]).toMatchObject({ samples: 4, families: { b: 3, c: 1 } });
  expect(JSON.stringify(lines)).not.toContain('secret');
});

test('a service that is missing beside one with nearly the same id is a likely mistake', () => {
  const page = 'a{namespace="db2"} 1\na{namespace="orders"} 1\n';
  const [line] = logged({ services: ['db1'], unconfigured: 'drop' }, [page]);
  expect(line).toMatchObject({ service: 'db1', reason: 'absent', hint: 'did you mean db2?' });
});

test('F6: a page without the uptime of its proxy is not told; one that has lost it is', () => {
  const ofServer = 'namespace="local",service_name="s",server_name';
  const pages = (lines: (minute: number) => readonly string[]): string[] =>
    Array.from({ length: 10 }, (_, minute) =>
      [
        `engine_global_status_uptime{${ofServer}="db-0"} ${1000 + 60 * minute}`,
        ...HOST_TABLES.flat().map(({ name }) => `${name}{${ofServer}="db-0"} ${minute + 1}`),
        ...PROXY_NAMES.map(name => `proxy_${name}{${ofServer}="p-0",id="0"} ${minute + 1}`),
        ...lines(minute),
      ]
        .map(line => `${line} @${60 * minute}\n`)
        .join(''),
    );
  expect(PROXY_NAMES).toHaveLength(13);
  expect(
    logged(
      {},
      pages(() => []),
    ),
  ).toEqual([]);
  const uptime = (minute: number): string[] =>
    minute < 3 ? [`proxy_uptime_seconds{${ofServer}="p-0"} ${500 + 60 * minute}`] : [];
  const lost = logged({}, pages(uptime));
  expect(new Set(lost.map(({ service }) => service))).toEqual(new Set(['local']));
  expect(lost[0]).toMatchObject({ level: 'warn', lostUptimes: 1 });
});

/** The series of a proxy on the pages of newer deployments, which lack its uptime. */
const PROXY_NAMES = [
  'modules server_connections service_connections threads_count threads_current_descriptors',
  'threads_errors threads_event_queue_length threads_hangups threads_max_queue_time threads_reads',
  'threads_stack_size threads_total_descriptors threads_writes',
].flatMap(line => line.split(' '));
