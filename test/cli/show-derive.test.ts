// `show derive --config`: the series of the service as it answers now.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { verb } from '../../src/cli/show.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { tempDirectory } from '../support/program.ts';
import { callVerb, type CallOptions, type Printed } from '../support/verb-context.ts';

const directory = tempDirectory();
let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator({ clock, key: 'canary-key' });
});
afterAll(async () => {
  await simulator.close();
  directory[Symbol.dispose]();
});

function show(
  args: readonly string[],
  key = 'canary-key',
  options: CallOptions = {},
): Promise<Printed> {
  const api = { base_url: simulator.url, key };
  const services = simulator.world.services.map(({ id, name }) => ({ id, name }));
  const otlp = { endpoint: 'http://127.0.0.1:9' };
  const config = directory.write('c.yaml', JSON.stringify({ api, services, otlp }));
  return callVerb(verb, ['derive', '--config', config, ...args], options);
}

test('has the type first, and the value, of each series of each service', async () => {
  const { code, out, err } = await show([]);
  expect([code, err]).toEqual([0, '']);
  const [head = '', ...lines] = out.trimEnd().split('\n');
  expect(head).toMatch(/^TYPE +FROM +NAME +LABELS +VALUE +UNIT +START +FAMILY +SERVICE$/);
  expect(lines.length).toBe(simulator.world.series.length);
  const up = lines.find(line => / engine_up +server_name=sessions-0/.test(line)) ?? '';
  expect(up).toMatch(/^gauge +(catalog|declared) .* 1 .* engine +dbpgf10000004$/);
});

test('can be of one service, as JSON', async () => {
  const { code, out } = await show(['--service-id', 'dbpgf10000004', '--jsonl']);
  expect(code).toBe(0);
  const series = out
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>);
  expect(new Set(series.map(({ service }) => service))).toEqual(new Set(['dbpgf10000004']));
  const counter = series.find(({ type, start }) => type === 'sum' && start !== null);
  expect(typeof counter?.['value']).toBe('number');
  expect(Object.keys(counter ?? {})).toEqual(
    'name labels service family type typeSource declared unit value start time changed outcome'.split(
      ' ',
    ),
  );
});

test('fits a terminal: no line is longer than it', async () => {
  for (const columns of [80, 120, 200]) {
    const { out } = await show([], 'canary-key', { columns });
    const widths = out
      .trimEnd()
      .split('\n')
      .map(line => line.length);
    expect(Math.max(...widths), String(columns)).toBeLessThanOrEqual(columns);
    expect(out).toMatch(/^TYPE +FROM +NAME/);
  }
});

test('a refused key is told without the key, and a service without an entry is named', async () => {
  const refused = await show([], 'canary-wrong');
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(/^\S+ \(orders and 3 more\): cannot scrape .* \(auth\): cannot get /);
  expect(refused.err + refused.out).not.toContain('canary');
  const other = await show(['--service-id', 'dbother']);
  expect([other.code, other.err]).toEqual([1, expect.stringMatching(/^no service dbother in /)]);
});

test('1 when there is nothing to show, as of a service that the page lacks', async () => {
  const page = directory.write('page.prom', 'engine_up{namespace="dbpgf1"} 1\n');
  for (const args of [
    ['--service-id', 'dbother'],
    ['--service-id', 'dbother', '--jsonl'],
  ]) {
    const { code, out, err } = await callVerb(verb, ['derive', page, ...args]);
    expect([code, out, err]).toEqual([1, '', 'no series of the service "dbother"\n']);
  }
  simulator.setFaults({ absentServices: ['dbpgf10000004'] });
  const absent = await show(['--service-id', 'dbpgf10000004']);
  simulator.resetFaults();
  expect([absent.code, absent.out]).toEqual([1, '']);
});

test('pages of files and of a service are not mixed', async () => {
  const { code, err } = await show(['page.prom']);
  expect([code, err]).toEqual([null, expect.stringContaining('expected FILE or --config FILE')]);
});
