// The lines of the pages of a bench. The engine corpus has the form of the service's own pages: names, TYPE and HELP
// habits and the five common labels come from the simulator, every line has a timestamp, and every value moves. Two
// corpora are variations of it; the last one is a page as a real exporter writes it.

import { readFileSync } from 'node:fs';
import { CATALOG } from '../../src/catalog/all.ts';
import { hashText } from '../../src/simulator/load.ts';
import { pageLines } from '../../src/simulator/page.ts';
import {
  seriesOf,
  type SimulatedSeries,
  type SimulatedService,
} from '../../src/simulator/world.ts';
import {
  bucketLine,
  type CorpusLine,
  risingLine,
  steadyLine,
  swayingLine,
  uptimeLine,
} from './line.ts';

const CORPORA = ['engine', 'histograms', 'churning', 'captured'] as const;
export type CorpusName = (typeof CORPORA)[number];

/** The pages of one bench: one for each address, each with `services` services of `series` series each. */
export interface CorpusSpec {
  readonly corpus: CorpusName;
  readonly addresses: number;
  readonly services: number;
  readonly series: number;
}

export interface CorpusPage {
  readonly lines: readonly CorpusLine[];
  /** Whether lines end in a timestamp. */
  readonly isTimed: boolean;
}

const SEED = 7;

/** The ids of the services on one address, which are the values of the `namespace` label; unique over all addresses. */
export function serviceIds(spec: CorpusSpec, address: number): readonly string[] {
  return servicesOf(spec, address).map(({ id }) => id);
}

export function pageOf(spec: CorpusSpec, address: number): CorpusPage {
  if (spec.corpus === 'captured') return capturedPage();
  const lines = engineLines(spec, address);
  if (spec.corpus === 'churning') return { lines: lines.map(churning), isTimed: true };
  if (spec.corpus === 'engine') return { lines, isTimed: true };
  return withHistograms(spec, address, lines);
}

/** Single servers. */
export function servicesOf({ services }: CorpusSpec, address: number): readonly SimulatedService[] {
  return Array.from({ length: services }, (_, place) => {
    const index = address * services + place;
    const name = `corpus-${index}`;
    const servers = [{ name: `${name}-0`, role: 'single' }] as const;
    return { id: `dbpgf${20_000_001 + index}`, name, topology: 'single', servers };
  });
}

/** Exactly `count` series: first the series that any single server has, then the series of more and more tables. */
function seriesOfService(service: SimulatedService, count: number): readonly SimulatedSeries[] {
  const series = seriesOf(service, SEED);
  const ofTable = series.filter(({ own }) => own['table'] === 'stock');
  for (let table = 1; series.length < count; table++)
    series.push(...ofTable.map(one => withTable(one, `table_${String(table).padStart(5, '0')}`)));
  return series.slice(0, count);
}

function withTable(series: SimulatedSeries, table: string): SimulatedSeries {
  const own = { ...series.own, table };
  const hash = hashText(`${series.service.id} ${Object.values(own).join(' ')}`, SEED);
  return { ...series, own, hash };
}

const COUNTERS = new Set(CATALOG.filter(({ type }) => type === 'counter').map(({ name }) => name));

function engineLines(spec: CorpusSpec, address: number): readonly CorpusLine[] {
  const services = servicesOf(spec, address);
  const all = services.flatMap(service => seriesOfService(service, spec.series));
  return pageLines(all).map(({ series: { name, hash }, metadata, key }) => {
    // Mends the one TYPE line that lacks its space: the plain stack would refuse the whole page for it.
    const before = `${metadata.replace(/^#TYPE /m, '# TYPE ')}${key} `;
    if (name.endsWith('_status_uptime')) return uptimeLine(before);
    return COUNTERS.has(name) ? risingLine(before, hash) : swayingLine(before, hash);
  });
}

/** Every fifth table is short-lived: its series are replaced by new ones. */
function churning(line: CorpusLine): CorpusLine {
  const at = line.before.lastIndexOf('table="table_');
  if (at < 0) return line;
  const churnAt = at + 'table="table_'.length;
  const table = Number(line.before.slice(churnAt, churnAt + 5));
  return table % 5 === 0 ? { ...line, churnAt } : line;
}

const BOUNDS = ['0.001', '0.005', '0.01', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '+Inf'];
const HISTOGRAM_LINES = BOUNDS.length + 2;

/** Keeps the first third of the lines and replaces the others with histograms of statements. */
function withHistograms(
  spec: CorpusSpec,
  address: number,
  lines: readonly CorpusLine[],
): CorpusPage {
  const kept = lines.slice(0, Math.floor(lines.length / 3));
  const services = serviceIds(spec, address);
  const count = Math.floor((lines.length - kept.length) / HISTOGRAM_LINES);
  const name = 'engine_statement_duration_seconds';
  const added = Array.from({ length: count }, (_, index) => {
    const id = services[index % services.length] ?? '';
    const common = `namespace="${id}",server_name="${id}-0",server_type="engine",service_name="${id}",statement="s${index}",topology_type="single"`;
    const head = index === 0 ? `# HELP ${name} Time.\n# TYPE ${name} histogram\n` : '';
    return [
      ...BOUNDS.map((bound, at) =>
        bucketLine(`${at === 0 ? head : ''}${name}_bucket{le="${bound}",${common}} `, at),
      ),
      risingLine(`${name}_sum{${common}} `, 4 + 9 * (index + 1)),
      bucketLine(`${name}_count{${common}} `, BOUNDS.length - 1),
    ];
  });
  return { lines: [...kept, ...added.flat()], isTimed: true };
}

/** A real exporter's page without timestamps and common labels. Its types are kept; its values are made to move. */
function capturedPage(): CorpusPage {
  const file = new URL('../../test/fixtures/captures/engine.prom', import.meta.url);
  const types = new Map<string, string>();
  const lines: CorpusLine[] = [];
  let before = '';
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) {
    const [, typed, type] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (typed !== undefined && type !== undefined) types.set(typed, type);
    if (line.startsWith('#')) {
      before += `${line}\n`;
      continue;
    }
    const text = `${before}${line.slice(0, line.lastIndexOf(' ') + 1)}`;
    const name = /^[^{ ]+/.exec(line)?.[0] ?? '';
    lines.push(capturedLine(text, name, types));
    before = '';
  }
  return { lines, isTimed: false };
}

function capturedLine(
  before: string,
  name: string,
  types: ReadonlyMap<string, string>,
): CorpusLine {
  const hash = hashText(before, SEED);
  const type = types.get(name) ?? 'part';
  if (name.endsWith('_status_uptime')) return uptimeLine(before);
  if (type === 'part' || name.endsWith('_time_seconds')) return steadyLine(before);
  return type === 'counter' ? risingLine(before, hash) : swayingLine(before, hash);
}
