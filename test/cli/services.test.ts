// `services` with good and bad input.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openServiceShell, SERVICE, type ServiceShell } from '../support/service-shell.ts';

let shell: ServiceShell;
beforeAll(async () => {
  shell = await openServiceShell();
});
afterAll(() => shell[Symbol.asyncDispose]());

test('shows every service that the key can see', async () => {
  const { code, stdout, stderr } = await shell.type('services');
  expect([code, stderr]).toEqual([0, '']);
  const [head, ...rows] = stdout.trim().split('\n');
  expect(head).toMatch(/^ID +NAME +TOPOLOGY +SERVERS +FAMILIES +SERIES$/);
  expect(rows).toHaveLength(4);
  expect(rows[0]).toMatch(
    /^dbpgf10000001 +orders +primary-replica +orders-0 \(engine\), orders-1 \(engine\), orders-proxy-0 \(proxy\) +engine, process, proxy +\d+$/,
  );
});

test('prints the same as JSON, also from a configuration and for one service', async () => {
  const { code, stdout } = await shell.type('services', '--config', shell.config, '--json');
  expect(code).toBe(0);
  const seen = JSON.parse(stdout) as { id: string }[];
  expect(seen).toHaveLength(4);
  const one = await shell.type('services', '--service-id', 'dbpgf10000004', '--json');
  expect(JSON.parse(one.stdout)).toEqual([
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
  const web = await shell.type('services');
  shell.simulator.resetFaults();
  expect([web.code, web.stderr]).toEqual([1, expect.stringContaining('the answer is a web page')]);
  expect(web.stdout).toBe('');
  shell.simulator.setFaults({ absentServices: [SERVICE] });
  const absent = await shell.type('services', '--service-id', SERVICE);
  shell.simulator.resetFaults();
  expect([absent.code, absent.stderr]).toEqual([
    1,
    `no series on the page is of the service "${SERVICE}"\n`,
  ]);
});

test('names the typed argument, not a place in a configuration that does not exist', async () => {
  const key = shell.files.write('two-lines', 'canary\nline');
  await shell.mistype(['services', '--key-file', key], '--key-file: the value holds a line break');
  await shell.mistype(['services', '--key-file', 'no-such-file'], '--key-file: cannot read');
  await shell.mistype(['services', '--service-id', 'a b'], '--service-id: expected the id');
});

test('refuses meaningless arguments', async () => {
  await shell.mistype(['services', 'extra'], 'cannot run services: unexpected "extra"');
  await shell.mistype(
    ['services', '--key', 'k'],
    'cannot run services: unknown option "--key"; did you mean --key-file?',
  );
  await shell.mistype(['services', '--config', 'no-such-file'], 'there is no such file');
});
