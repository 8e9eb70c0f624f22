// `init` against a simulator: it writes a configuration that loads and takes nothing but data from the service.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { startHttpServer } from '../support/http-server.ts';
import { SHELL_KEY, useShell } from '../support/service-shell.ts';
import { callVerb } from '../support/verb-context.ts';
import { verb } from '../../src/cli/init.ts';

const shell = await useShell();
const environment = { PROM2OTLP_API_KEY: SHELL_KEY, HOME: 'x' };

test('prints a configuration with every service that the key sees', async () => {
  const out = await shell.shows('init');
  expect(out).toMatch(/^# yaml-language-server: \$schema=\/.*\/config\/schema\.json\n/);
  const config = parseConfig(out, { file: 'x.yaml', environment });
  const expected = shell.simulator.world.services.map(({ id, name }) => ({ id, name }));
  expect(config.services.map(({ id, name }) => ({ id, name }))).toEqual(expected);
  expect(config.services[0]?.api.key.reveal()).toBe(SHELL_KEY);
  expect(config.otlp.metrics.endpoint).toBe('http://localhost:4318/v1/metrics');
});

test('writes a new file, with the place of the key; replaces one only if forced', async () => {
  const output = join(shell.files.path, 'new.yaml');
  const key = shell.files.write('key', `${SHELL_KEY}\n`);
  expect(await shell.shows(`init --key-file ${key} -o -`)).toContain('dbpgf10000001');
  const command = `init --key-file ${key} -o ${output} --endpoint https://otlp.example.com`;
  expect(await shell.type(command)).toEqual({
    code: 0,
    out: '',
    err: `${output}: 4 services; next: prom2otlp check -c ${output} --probe\n`,
  });
  expect(readFileSync(output, 'utf8')).toContain('key: ${file:key}');
  const config = loadConfig({ file: output, environment: {} });
  expect(config.services[0]?.api.key.reveal()).toBe(SHELL_KEY);
  expect(config.otlp.metrics.endpoint).toBe('https://otlp.example.com/v1/metrics');
  writeFileSync(output, 'mine');
  await shell.mistypes(command, 'add --force');
  expect(readFileSync(output, 'utf8')).toBe('mine');
  expect((await shell.type(`${command} --force`)).code).toBe(0);
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
  const out = await shell.shows(`init --base-url ${server.origin}`);
  const config = parseConfig(out, { file: 'x.yaml', environment });
  expect(config.services.map(({ id, name }) => [id, name])).toEqual([
    ['007', 'a: {b} c: #'],
    ['db1', 'db1'],
    ['null', 'yes'],
  ]);
  expect(config.status.port).toBe(9464);
});

test('1 when there is nothing to write about, 2 for a wrong argument', async () => {
  const wrong = await shell.type('init --endpoint nowhere');
  expect(wrong).toMatchObject({ code: 2, err: expect.stringMatching(/^--endpoint: .* "nowhere"/) });
  shell.simulator.setFaults({ status: 500 });
  expect((await shell.fails('init', '500')).out).toBe('');
});

test('needs an address', async () => {
  const { err } = await callVerb(verb, [], { environment });
  expect(err).toContain('expected --base-url URL');
});
