// GET /observability/v2/metrics: all services on one page, or only those with the name in the parameter `service`. Text
// 0.0.4, samples grouped by name, each with an explicit timestamp. The service takes new samples at intervals, so two
// pages within one interval have the same times and values. The samples of proxies are older than others on the page.

import { CATALOG } from '../catalog/all.ts';
import { formatGoFloat } from '../lib/format.ts';
import { type Endpoint, type EndpointRequest, errorAnswer } from './answer.ts';
import { hashText, type Moment } from './load.ts';
import {
  labelsOf,
  type SimulatedSeries,
  type SimulatedServer,
  type SimulatedService,
  type World,
} from './world.ts';

const HEADERS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' };

export function createMetricsEndpoint(world: World): Endpoint {
  const lines = pageLines(world.series);
  return request => {
    const { method, path, query, nowMs } = request;
    if (path !== '') return null;
    if (method !== 'GET') return errorAnswer(405, 'Method not allowed', request);
    const wanted = query.get('service');
    const running = seenServices(world, request).filter(({ id }) => !world.stopped.includes(id));
    const named = new Set(running.filter(({ name }) => (wanted ?? name) === name));
    const shown = lines.filter(({ series }) => named.has(series.service));
    return { status: 200, headers: HEADERS, body: Buffer.from(renderPage(world, shown, nowMs)) };
  };
}

/** The services that a request sees: those of the region that its header selects. */
export function seenServices(
  world: World,
  { headers }: Pick<EndpointRequest, 'headers'>,
): readonly SimulatedService[] {
  const region = headers['x-region'];
  return region === undefined
    ? world.services
    : world.services.filter(service => service.region === region);
}

/** A sample's line without its value and time. */
export interface PageLine {
  readonly series: SimulatedSeries;
  /** The metadata lines of its name, if this is the first series of that name; else ''. */
  readonly metadata: string;
  readonly key: string;
}

export function pageLines(series: readonly SimulatedSeries[]): readonly PageLine[] {
  const byName = [...Map.groupBy(series, ({ name }) => name)].sort(([a], [b]) => (a < b ? -1 : 1));
  return byName.flatMap(([name, all]) =>
    all.map((one, index) => ({
      series: one,
      metadata: index === 0 ? metadataLines(name) : '',
      key: seriesKey(one),
    })),
  );
}

/** The page at `nowMs`. */
export function renderPage(world: World, lines: readonly PageLine[], nowMs: number): string {
  const moments = new Map<SimulatedServer, Moment>();
  const momentOf = ({ service, server }: SimulatedSeries): Moment => {
    const known = moments.get(server);
    if (known !== undefined) return known;
    const moment = world.momentOf(service, server, world.sampleTimeMs(server, nowMs));
    moments.set(server, moment);
    return moment;
  };
  const texts = lines.map(({ series, metadata, key }) => {
    const moment = momentOf(series);
    const value = formatGoFloat(series.shape.at(moment, series.hash));
    return `${metadata}${key} ${value} ${moment.timeMs}\n`;
  });
  return texts.join('');
}

const ENTRIES = new Map(CATALOG.map(entry => [entry.name, entry]));

// As on the service's page: HELP is missing for some names and says nothing for others, series of unknown type are
// untyped or have no TYPE line, and one TYPE line lacks the space after the #.
function metadataLines(name: string): string {
  const entry = ENTRIES.get(name);
  if (entry === undefined) return '';
  const hash = hashText(name, 0);
  const isStatus = name.startsWith('engine_global_status_');
  const help = isStatus ? 'Generic metric from the status of the server.' : entry.description;
  const helpLine = hash % 4 === 0 ? '' : `# HELP ${name} ${help}\n`;
  if (name === 'engine_up') return `${helpLine}#TYPE ${name} gauge\n`;
  if (entry.declared !== 'unknown') return `${helpLine}# TYPE ${name} ${entry.declared}\n`;
  return hash % 2 === 0 ? helpLine : `${helpLine}# TYPE ${name} untyped\n`;
}

// No label value of the simulator needs an escape.
function seriesKey(series: SimulatedSeries): string {
  const labels = labelsOf(series).map(([key, value]) => `${key}="${value}"`);
  return `${series.name}{${labels.join(',')}}`;
}
