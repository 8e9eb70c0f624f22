// docs/logs.md as a reader follows it: its configuration is good, its commands do what it says, and the names in its
// tables are those that the program sends.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { LogMeter } from '../../src/logs/log-meter.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { Receiver } from '../support/receiver.ts';
import { run, tempDirectory } from '../support/program.ts';

const text = readFileSync(new URL('../../docs/logs.md', import.meta.url), 'utf8');
const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(text) ?? [];
const [, shell = ''] = /```sh\n([^]*?)```/.exec(text) ?? [];

test('its commands do what it says, with its configuration', async () => {
  await using simulator = await startSimulator({ clock, key: 'k' });
  await using receiver = await Receiver.start();
  using files = tempDirectory();
  const [service] = simulator.world.services;
  const config = files.write(
    'prom2otlp.yaml',
    yaml
      .replace('https://api.example.com', simulator.url)
      .replace('${file:/run/secrets/api-key}', 'k')
      .replace('dbpgf12345678', service?.id ?? '')
      .replace('http://localhost:4318', receiver.url)
      .replace('/var/lib/prom2otlp', `${files.path}/queue`),
  );
  const commands = shell.trim().split('\n');
  expect(commands.length).toBeGreaterThan(3);
  for (const command of commands) {
    const [npx, program, ...args] = command.replace('prom2otlp.yaml', config).split(' ');
    expect([npx, program], command).toEqual(['npx', 'prom2otlp']);
    const { code, stdout } = await run(args);
    expect(code, command).toBe(0);
    expect(stdout.split('\n').length, command).toBeGreaterThan(2);
  }
  expect(receiver.logRecords.length).toBeGreaterThan(10);
});

test('the metrics that it names are counted', () => {
  const counters = new Counters();
  const meter = new LogMeter(counters, silentLogger, clock);
  expect(meter.partitions).toEqual([]);
  const names = counters.list().map(({ name }) => name);
  const named = [...text.matchAll(/`(prom2otlp_logs_\w+)`/g)].map(([, name]) => name ?? '');
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(name => !names.includes(name))).toEqual([]);
});
