// The demo as a new user sees it, and a check of its claim: all series of the catalog arrive with the type, unit and start
// that it gives.

import { expect, onTestFinished, test } from 'vitest';
import { CATALOG } from '../../src/catalog/all.ts';
import type { CatalogEntry } from '../../src/catalog/catalog.ts';
import { parseConfig } from '../../src/config/load.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import type { OtlpPoint } from '../support/otlp-points.ts';
import { Receiver } from '../support/receiver.ts';
import { run, start, until } from '../support/program.ts';
import { configFor } from '../support/rig.ts';

/** Much longer than a slow machine needs. */
const PATIENCE_MS = 75_000;

test('the demo prints the address of its status page, shows that data flows, and ends after a signal', async () => {
  const demo = start(['demo', '--port', '0']);
  onTestFinished(() => demo.kill());
  const flow = /accepted [1-9].* [1-9]\d{2,} log records/;
  await until('data flows', () => flow.test(demo.stdout()), PATIENCE_MS);
  const url = /status page +(http:\S+)/.exec(demo.stdout())?.[1] ?? expect.fail('no address');
  const isReady = async (): Promise<boolean> => (await fetch(`${url}/readyz`)).ok;
  await until('it is ready', isReady, PATIENCE_MS);
  const shows = async (text: string): Promise<boolean> =>
    (await (await fetch(url)).text()).includes(text);
  expect(await shows('orders')).toBe(true);
  const schedules = 'whether the schedules of the service make backups that restore';
  await until('the backups are read', () => shows(schedules), PATIENCE_MS);
  const { stdout } = await demo.stop();
  expect(stdout).toMatch(/metrics that arrived, by type: .*\d+ sum/);
  expect(stdout).toMatch(/log records that arrived: [1-9]\d\d/);
});

test('the demo ends by itself, run from the sources as `npm start` does', async () => {
  const sources = { PROM2OTLP_ENTRY: 'src/main.ts' };
  const { code, stdout } = await run(['demo', '--for', '1s', '--port', '0'], sources);
  expect(stdout).toContain('log records that arrived: ');
  expect(code).toBe(0);
});

/** The kind of an entry's points, by decision 2 (guesses make no counters) and the table of types. */
function expectedKind(entry: CatalogEntry): string {
  if (entry.type === 'counter')
    return entry.isGuess && entry.declared !== 'counter' ? 'gauge' : 'sum';
  return entry.type === 'updowncounter' || entry.type === 'info' ? 'updown' : 'gauge';
}

/** A sum that may fall is `updown`. */
const kindOf = ({ type, isMonotonic }: OtlpPoint): string =>
  type === 'sum' && !isMonotonic ? 'updown' : type;

test('every series of the catalog arrives with its type, unit and start', async () => {
  await using simulator = await startSimulator({ clock, key: 'k', refreshMs: 500 });
  const receiver = await Receiver.start();
  // The usual interval: a short one would make the timeout short, too.
  const text = configFor(simulator, { metrics: {}, otlp: { endpoint: receiver.url } });
  const config = parseConfig(text, { file: 'test', environment: {} });
  const daemon = await Daemon.open({ config, clock, logger: silentLogger });
  expect(await daemon.cycle(PATIENCE_MS, PATIENCE_MS)).toBe(true);
  await daemon.stop(new AbortController().signal);
  await receiver.close();

  const points = Map.groupBy(receiver.points, point => point.metric);
  expect(CATALOG).toHaveLength(185);
  const wrong = CATALOG.flatMap(entry => {
    const [point] = points.get(entry.name) ?? [];
    if (point === undefined) return [`${entry.name}: did not arrive`];
    const kind = expectedKind(entry);
    const unit = entry.unit === '1' ? '' : entry.unit;
    const hasStart = point.startNs !== '0';
    return [
      ...(kindOf(point) === kind ? [] : [`${entry.name}: ${kindOf(point)}, not ${kind}`]),
      ...(point.unit === unit ? [] : [`${entry.name}: unit ${point.unit}, not ${unit}`]),
      ...(hasStart === (kind === 'sum') ? [] : [`${entry.name}: start ${hasStart}`]),
    ];
  });
  expect(wrong).toEqual([]);
});
