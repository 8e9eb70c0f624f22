// `init` against a simulator: what it writes is a configuration that loads, and contains nothing but data of the service.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { verb } from '../../src/cli/init.ts';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { startHttpServer } from '../support/http-server.ts';
import { tempDirectory } from '../support/program.ts';
import { callVerb, type Printed } from '../support/verb-context.ts';

const KEY = 'canary-of-the-key';
const directory = tempDirectory();
const environment = { PROM2OTLP_API_KEY: KEY };
let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ clock, key: KEY });
});
afterEach(() => simulator.resetFaults());
afterAll(async () => {
  await simulator.close();
  directory[Symbol.dispose]();
});

async function init(...args: string[]): Promise<Printed> {
  const all = ['--base-url', simulator.url, ...args];
  const printed = await callVerb(verb, all, { environment });
  expect(printed.out + printed.err).not.toContain(KEY);
  return printed;
}

test('prints a configuration with every service that the key sees', async () => {
  const { code, out, err } = await init();
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/^# yaml-language-server: \$schema=\/.*\/config\/schema\.json\n/);
  const config = parseConfig(out, { file: 'x.yaml', environment });
  const expected = simulator.world.services.map(({ id, name }) => ({ id, name }));
  expect(config.services.map(({ id, name }) => ({ id, name }))).toEqual(expected);
  expect(config.services[0]?.api.key.reveal()).toBe(KEY);
  expect(config.otlp.metricsEndpoint).toBe('http://localhost:4318/v1/metrics');
});

test('writes a new file, with the place of the key; replaces one only if forced', async () => {
  const output = join(directory.path, 'new.yaml');
  const key = directory.write('key', `${KEY}\n`);
  const args = ['--key-file', key, '-o', output, '--endpoint', 'https://otlp.example.com'];
  const printed = await init('--key-file', key, '-o', '-');
  expect([printed.code, printed.out]).toEqual([0, expect.stringContaining('dbpgf10000001')]);
  const { code, out, err } = await init(...args);
  expect([code, out]).toEqual([0, '']);
  expect(err).toBe(`${output}: 4 services; next: prom2otlp check -c ${output} --probe\n`);
  const config = loadConfig({ file: output, environment: {} });
  expect(config.services[0]?.api.key.reveal()).toBe(KEY);
  expect(config.otlp.metricsEndpoint).toBe('https://otlp.example.com/v1/metrics');
  writeFileSync(output, 'mine');
  const again = await init(...args);
  expect([again.code, again.err]).toEqual([null, expect.stringContaining('add --force')]);
  expect(readFileSync(output, 'utf8')).toBe('mine');
  expect((await init(...args, '--force')).code).toBe(0);
  expect(readFileSync(output, 'utf8')).toContain('dbpgf10000001');
});

test('no text of the service becomes a reference or a key', async () => {
  const labels = [
    'namespace="db1",service_name="${file:/etc/passwd}",topology_type="a\\nstatus: {}"',
    'namespace="null",service_name="yes"',
    'namespace="${env:HOME}",service_name="b"',
    'namespace="007",service_name="a: {b}\\nc: #"',
  ];
  const page = labels.map(one => `engine_up{${one}} 1\n`).join('');
  await using server = await startHttpServer((_, response) => void response.end(page));
  const args = ['--base-url', server.origin];
  const { code, out } = await callVerb(verb, args, { environment });
  expect(code).toBe(0);
  const config = parseConfig(out, { file: 'x.yaml', environment: { ...environment, HOME: 'x' } });
  expect(config.services.map(({ id, name }) => [id, name])).toEqual([
    ['007', 'a: {b} c: #'],
    ['db1', 'db1'],
    ['null', 'yes'],
  ]);
  expect(config.status.port).toBe(9464);
});

test('1 when there is nothing to write about, 2 for a wrong argument', async () => {
  simulator.setFaults({ status: 500 });
  const failed = await init();
  expect([failed.code, failed.out]).toEqual([1, '']);
  simulator.resetFaults();
  const wrong = await init('--endpoint', 'nowhere');
  expect([wrong.code, wrong.err]).toEqual([
    null,
    expect.stringMatching(/^--endpoint: expected .*, got "nowhere"/),
  ]);
  const missing = await callVerb(verb, [], { environment });
  expect(missing.err).toContain('expected --base-url URL');
});
