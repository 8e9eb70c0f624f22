// The reports of a daemon about backup schedules, between the simulated service and a receiver, while schedules come and
// go. What the verbs say of them is in test/transcripts/once.

import { expect, test } from 'vitest';
import { useRig } from '../support/rig.ts';
import { ask } from '../support/ask.ts';
import { until } from '../support/program.ts';

const CANARY = 'canary-77f0c2aa';
const ORDERS = 'dbpgf10000001';
const SCHEDULES = '/backup/v1/backups/schedules';

const rig = useRig(CANARY);

function config(): string {
  return rig.config({
    services: [{ id: ORDERS, name: 'orders' }],
    backups: { enabled: true, interval: '1s' },
    queue: { directory: `${rig.directory.path}/queue` },
  });
}

const events = (): readonly string[] =>
  rig.receiver.logRecords.map(({ eventName = '' }) =>
    eventName.replace('prom2otlp.backup.schedule.', ''),
  );

/** The newest value of a gauge; undefined before the first. */
function newest(name: string): number | undefined {
  const points = rig.receiver.points.filter(point => point.metric === `prom2otlp_backup_${name}`);
  return points.at(-1)?.value as number | undefined;
}

async function change(method: string, path: string, body?: object): Promise<void> {
  const headers = { 'x-api-key': CANARY, accept: 'application/json' };
  const { status } = await ask(rig.simulator.url + SCHEDULES + path, { method, headers, body });
  expect(status).toBeLessThan(300);
}

test('new, changed and removed schedules are reported, also over a restart; no key is', async () => {
  const daemon = rig.run(config());
  await until('a backup that restores is scheduled', () => newest('restorable_scheduled') === 1);
  expect(newest('up')).toBe(1);
  expect(newest('next_run_seconds')).toBeGreaterThan(0);
  expect(newest('last_finished_age_seconds')).toBeGreaterThan(0);
  const body = { service_id: ORDERS, backup_type: 'full', schedule: '0 12 * * *' };
  await change('POST', '', body);
  await until('it appeared', () => events().length === 1);
  await change('PATCH', '/1', { suspended: true });
  await until('it changed', () => events().length === 2);
  const first = await daemon.stop();
  await change('DELETE', '/1');
  await change('DELETE', '/5');
  const next = rig.run(config());
  await until('no backup that restores is scheduled', () => newest('restorable_scheduled') === 0);
  await until('both vanished', () => events().length === 4);
  expect(events()).toEqual(['appeared', 'changed', 'vanished', 'vanished']);
  const url = await next.ready();
  const page = await (await fetch(url)).text();
  expect(page).toContain('no backup that restores is scheduled');
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('prom2otlp_backup_reads_total{result="ok"}');
  expect(metrics).toContain(`prom2otlp_backup_events_total{service="${ORDERS}",kind="vanished"} 2`);
  const second = await next.stop();
  expect(first.stderr + second.stderr + page + metrics).not.toContain(CANARY);
});
