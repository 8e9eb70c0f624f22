// A running daemon that gets SIGHUP: a wrong configuration changes nothing and is told, a right one is used, and what was
// sent before goes on. How parts are replaced is tested in test/daemon/reload.test.ts, how files are watched in
// test/config/changes.test.ts.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useRigForEach } from '../support/rig.ts';
import { until } from '../support/program.ts';

const CANARY = 'canary-1b9e22d7';

const rig = useRigForEach(CANARY);

function configure(count: number, changes: Record<string, unknown> = {}): string {
  const services = rig.ids.slice(0, count).map(id => ({ id }));
  const queue = { directory: join(rig.directory.path, 'queue') };
  return rig.config({ services, queue, ...changes });
}

test('SIGHUP: a bad file changes nothing and is told, a good one is used, and series go on', async () => {
  const daemon = rig.run(configure(1));
  const [first = '', second = ''] = rig.ids;
  await until('a scrape', () => rig.came(first) > 0);

  configure(2, { metrics: { intervall: '1s' } });
  daemon.child.kill('SIGHUP');
  const mistakes = await daemon.shows('the mistake', ({ reload }) =>
    reload?.mistakes.length === 1 ? reload.mistakes : undefined,
  );
  expect(mistakes[0]).toMatch(/prom2otlp\.yaml:1:\d+: .*intervall.*interval/);
  const message = expect.stringContaining('the previous one stays in use');
  expect((await daemon.status()).problems[0]).toMatchObject({ severity: 'error', message });
  const before = rig.came(first);
  await until('a further scrape', () => rig.came(first) > before);
  expect(rig.came(second)).toBe(0);

  configure(2, { log: { format: 'text' } });
  daemon.child.kill('SIGHUP');
  await until('the second service', () => rig.came(second) > 0);
  const { reload, services, problems } = await daemon.status();
  expect(reload?.mistakes).toEqual([]);
  expect(services).toHaveLength(2);
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  const { stderr } = await daemon.stop();
  expect(stderr).toContain('the configuration was loaded again');
  expect(stderr).toMatch(/ info {2}stopped left=0/);
  expect(stderr).not.toContain(CANARY);
  expect(rig.disturbed).toEqual([]);
});
