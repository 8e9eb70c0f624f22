// The demo as a new user sees it, and a check of its claim: all 160 series of the specification arrive with the type,
// unit and start that the catalog gives.

import { expect, test } from 'vitest';
import { CATALOG } from '../../src/catalog/all.ts';
import type { CatalogEntry } from '../../src/catalog/catalog.ts';
import { parseConfig } from '../../src/config/load.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import type { OtlpPoint } from '../support/otlp-points.ts';
import { Receiver } from '../support/receiver.ts';
import { start, until } from '../support/program.ts';
import { configFor } from '../support/rig.ts';

test('the demo prints the address of its status page, shows that data flows, and ends by itself', async () => {
  const demo = start(['demo', '--for', '6s', '--port', '0']);
  const url = await until('the address', () => /status page +(http:\S+)/.exec(demo.stdout())?.[1]);
  await until('it is ready', async () => (await fetch(`${url}/readyz`)).ok);
  const page = await (await fetch(url)).text();
  expect(page).toContain('orders');
  expect(page).toContain('whether the schedules of the service make full backups');
  const { code, stdout } = await demo.finished;
  expect(stdout).toMatch(/accepted [1-9]/);
  expect(stdout).toMatch(/metrics that arrived, by type: .*\d+ sum/);
  expect(stdout).toMatch(/log records that arrived: [1-9]\d\d/);
  expect(code).toBe(0);
});

/** The kind of an entry's points, by docs/decisions/0002-guesses-make-no-counters.md and the table of types. */
function expectedKind(entry: CatalogEntry): string {
  if (entry.type === 'counter')
    return entry.isGuess && entry.declared !== 'counter' ? 'gauge' : 'sum';
  return entry.type === 'updowncounter' || entry.type === 'info' ? 'updown' : 'gauge';
}

/** A sum that may fall is `updown`. */
const kindOf = ({ type, isMonotonic }: OtlpPoint): string =>
  type === 'sum' && !isMonotonic ? 'updown' : type;

test('every series of the specification arrives with its type, unit and start', async () => {
  await using simulator = await startSimulator({ clock, key: 'k', refreshMs: 500 });
  const receiver = await Receiver.start();
  const text = configFor(simulator, { otlp: { endpoint: receiver.url } });
  const config = parseConfig(text, { file: 'test', environment: {} });
  const daemon = await Daemon.open({ config, clock, logger: silentLogger });
  expect(await daemon.cycle(10_000, 10_000)).toBe(true);
  await daemon.stop(new AbortController().signal);
  await receiver.close();

  const points = Map.groupBy(receiver.points, point => point.metric);
  expect(CATALOG).toHaveLength(160);
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
