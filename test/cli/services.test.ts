// `services` with good and bad input.

import { expect, test } from 'vitest';
import { SERVICE, SHELL_ENVIRONMENT, useShell } from '../support/service-shell.ts';

const shell = await useShell();

test('shows every service that the key can see', async () => {
  const [head, ...rows] = (await shell.shows('services')).trim().split('\n');
  expect(head).toMatch(/^ID +NAME +TOPOLOGY +SERVERS +FAMILIES +SERIES$/);
  expect(rows).toHaveLength(4);
  expect(rows[0]).toMatch(
    /^dbpgf10000001 +orders +primary-replica +orders-0 \(engine\), orders-1 \(engine\), orders-proxy-0 \(proxy\) +engine, process, proxy +\d+$/,
  );
});

test('prints the same as JSON, also from a configuration and for one service', async () => {
  expect(await shell.json(`services --config ${shell.config}`)).toHaveLength(4);
  expect(await shell.json('services --service-id dbpgf10000004')).toEqual([
    {
      id: 'dbpgf10000004',
      name: 'sessions',
      topology: 'single',
      servers: [{ name: 'sessions-0', type: 'engine' }],
      families: ['engine', 'process'],
      series: expect.any(Number),
    },
  ]);
});

test('reports an unreadable page, and a service that is not on it', async () => {
  shell.simulator.setFaults({ body: 'html' });
  const { out } = await shell.fails('services', 'the answer is a web page');
  expect(out).toBe('');
  shell.simulator.resetFaults();
  shell.simulator.setFaults({ absentServices: [SERVICE] });
  const absent = `no series on the page is of the service "${SERVICE}"\n`;
  await shell.fails(`services --service-id ${SERVICE}`, absent);
});

test('a page over a limit shows no part of itself', async () => {
  const config = shell.configWith({ metrics: { limits: { samples: 100 } } });
  const { out } = await shell.fails(`services --config ${config}`, 'cannot use the page');
  expect(out).toBe('');
});

test('a verb is for all services, whatever the share of the daemon', async () => {
  for (const index of [0, 1]) {
    const config = shell.configWith({ shard: { index, count: 2 } });
    const command = `backups schedules list --config ${config} --service-id ${SERVICE}`;
    expect(await shell.json<unknown[]>(command)).not.toHaveLength(0);
  }
});

test('variables for OTLP do not concern a verb with --base-url', async () => {
  const environment = { ...SHELL_ENVIRONMENT, OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' };
  expect(await shell.shows('services', { environment })).toContain(SERVICE);
});
