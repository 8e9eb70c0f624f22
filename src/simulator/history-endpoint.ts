// GET /observability/v2/query: the stored samples of one service's series, for a selector with a range and nothing else of
// PromQL, such as {service_name="orders"}[5m]. The label is the service's name; series of processor and volume have no
// history.

import { parseDuration } from '../config/units.ts';
import { formatGoFloat } from '../lib/format.ts';
import { type Endpoint, errorAnswer, jsonAnswer } from './answer.ts';
import { seenServices } from './page.ts';
import { labelsOf, type SimulatedSeries, type World } from './world.ts';

const SELECTOR = /^\{service_name="([^"\\]*)"\}\[(\d+(?:ms|s|m|h|d))\]$/;
const UNSTORED = /^engine_server_(?:cpu|volume)/;

export function createHistoryEndpoint(world: World): Endpoint {
  return request => {
    const { method, path, query, nowMs } = request;
    if (path !== '' || method !== 'GET') return null;
    const [, name, range = ''] = SELECTOR.exec(query.get('query') ?? '') ?? [];
    const rangeMs = parseDuration(range);
    if (name === undefined || rangeMs === undefined)
      return errorAnswer(400, 'only {service_name="NAME"}[RANGE] is simulated', request);
    const atMs = Number(query.get('time') ?? nowMs / 1000) * 1000;
    const seen = new Set(seenServices(world, request).map(service => service.name));
    const shown = world.series.filter(
      one => one.service.name === name && seen.has(name) && !UNSTORED.test(one.name),
    );
    const result = shown.map(series => {
      const { namespace: _, ...labels } = Object.fromEntries(labelsOf(series));
      const timesMs = world.timesBetween(series.server, [atMs - rangeMs, atMs], nowMs);
      return {
        metric: { __name__: series.name, ...labels },
        values: timesMs.map(timeMs => [timeMs / 1000, valueText(world, series, timeMs)]),
      };
    });
    return jsonAnswer(200, { status: 'success', data: { resultType: 'matrix', result } });
  };
}

function valueText(world: World, series: SimulatedSeries, timeMs: number): string {
  return formatGoFloat(world.valueOf(series, timeMs));
}
