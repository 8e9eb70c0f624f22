// `show derive --config`: the series of the service as it answers now.

import { expect, test } from 'vitest';
import { SHELL_KEY, useShell } from '../support/service-shell.ts';

const shell = await useShell();
const { simulator } = shell;

/** The command with a configuration of all services. */
function derive(options = '', key = SHELL_KEY): string {
  const api = { base_url: simulator.url, key };
  const services = simulator.world.services.map(({ id, name }) => ({ id, name }));
  return `show derive --config ${shell.configWith({ api, services })} ${options}`;
}

test('has the type first, and the value, of each series of each service', async () => {
  const [head = '', ...lines] = (await shell.shows(derive())).trimEnd().split('\n');
  expect(head).toMatch(/^TYPE +FROM +NAME +LABELS +VALUE +UNIT +START +FAMILY +SERVICE$/);
  expect(lines.length).toBe(simulator.world.series.length);
  const up = lines.find(line => / engine_up +server_name=sessions-0/.test(line)) ?? '';
  expect(up).toMatch(/^gauge +(catalog|declared) .* 1 .* engine +dbpgf10000004$/);
});

test('can be of one service, as JSON', async () => {
  const out = await shell.shows(derive('--service-id dbpgf10000004 --jsonl'));
  const lines = out.trimEnd().split('\n');
  const series = lines.map(line => JSON.parse(line) as Record<string, unknown>);
  expect(new Set(series.map(({ service }) => service))).toEqual(new Set(['dbpgf10000004']));
  const counter = series.find(({ type, start }) => type === 'sum' && start !== null);
  expect(typeof counter?.['value']).toBe('number');
  expect(Object.keys(counter ?? {})).toEqual(
    'name labels service family type typeSource declared unit value start time changed outcome'.split(
      ' ',
    ),
  );
});

test.each([
  ['one target', simulator.url],
  ['two targets', simulator.url.replace('127.0.0.1', 'localhost')],
])('leaves out what the daemon has no room for, and says so: %s', async (_, base_url) => {
  const [first, second, ...others] = simulator.world.services.map(({ id }) => ({ id }));
  const config = shell.configWith({
    services: [first, second, ...others.map(one => ({ ...one, api: { base_url } }))],
    metrics: { limits: { series: 100 } },
  });
  const { out, err } = await shell.type(`show derive --jsonl --config ${config}`);
  const own = (line: string): boolean =>
    / "name":"(?:up|scrape_\w+)"/.test(line.replaceAll(',', ', '));
  const lines = out.trimEnd().split('\n');
  expect(lines.filter(line => !own(line))).toHaveLength(100);
  expect(err).toMatch(/metrics\.limits\.series allows no more: [\d,]+ samples are left out\n$/);
});

test.each([80, 120, 200])('fits a terminal of %i columns', async columns => {
  const out = await shell.shows(derive(), { columns });
  const widths = out
    .trimEnd()
    .split('\n')
    .map(({ length }) => length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
  expect(out).toMatch(/^TYPE +FROM +NAME/);
});

test('a refused key is told without the key, and a service without an entry is named', async () => {
  const { out, err } = await shell.fails(derive('', 'canary-wrong'), ': cannot scrape ');
  expect(err).toMatch(/^\S+ \(orders and 3 more\): cannot scrape .* \(auth\): cannot get /);
  expect(err + out).not.toContain('canary');
  await shell.fails(derive('--service-id dbother'), 'no service dbother in ');
});

test('1 when there is nothing to show, as of a service that the page lacks', async () => {
  const page = shell.files.write('page.prom', 'engine_up{namespace="dbpgf1"} 1\n');
  for (const form of ['', '--jsonl'])
    expect(await shell.type(`show derive ${page} --service-id dbother ${form}`)).toEqual({
      code: 1,
      out: '',
      err: 'no series of the service "dbother"\n',
    });
  simulator.setFaults({ absentServices: ['dbpgf10000004'] });
  expect((await shell.fails(derive('--service-id dbpgf10000004'), '')).out).toBe('');
});
