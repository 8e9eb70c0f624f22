// docs/use/logs.md as a reader follows it: its configuration is good, and its commands do what it says.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { Receiver } from '../support/receiver.ts';
import { run, tempDirectory } from '../support/program.ts';

const text = readFileSync(new URL('../../docs/use/logs.md', import.meta.url), 'utf8');
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
