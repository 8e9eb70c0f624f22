// The services of a bench: any number of single servers, with the same number of series each.

import { prefixed, tableRows } from '../../src/simulator/series.ts';
import {
  seriesFrom,
  seriesOf,
  type SimulatedSeries,
  type SimulatedService,
} from '../../src/simulator/world.ts';

export function corpusServices(count: number): readonly SimulatedService[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `corpus-${index}`;
    const servers = [{ name: `${name}-0`, role: 'single' }] as const;
    return { id: `dbpgf${20_000_001 + index}`, name, topology: 'single', servers };
  });
}

/** Exactly `count` series: first the series that any single server has, then the series of more and more tables. */
export function corpusSeries(
  service: SimulatedService,
  count: number,
  seed: number,
): readonly SimulatedSeries[] {
  const series = seriesOf(service, seed);
  const [server] = service.servers;
  if (server === undefined) return series;
  for (let table = 1; series.length < count; table++) {
    const rows = tableRows(`table_${String(table).padStart(5, '0')}`, 1 + (table % 64));
    series.push(...prefixed('engine_', rows).map(row => seriesFrom(row, service, server, seed)));
  }
  return series.slice(0, count);
}
