// GET /provisioning/v1/services: the database services that the key sees in a region, a page at a time. The token of the
// next page comes in a header. Services that World has as stopped or in maintenance say so.

import { HOUR_MS } from '../lib/clock.ts';
import { type Endpoint, errorAnswer, jsonAnswer } from './answer.ts';
import { seenServices } from './page.ts';
import type { SimulatedService, World } from './world.ts';

const PAGE_SIZE_MAX = 100;
const NEXT_TOKEN = 'x-simulated-page-token-next';

export function createInventoryEndpoint(world: World): Endpoint {
  return request => {
    const { method, path, query, nowMs } = request;
    if (path !== '/services' || method !== 'GET') return null;
    const size = Number(query.get('page_size') ?? PAGE_SIZE_MAX);
    const from = Number(query.get('page_token') ?? 0);
    if (!(size >= 1 && size <= PAGE_SIZE_MAX))
      return errorAnswer(400, `page_size is from 1 to ${PAGE_SIZE_MAX}`, request);
    const seen = seenServices(world, request);
    const items = seen.slice(from, from + size).map(service => itemOf(world, service, nowMs));
    const answer = jsonAnswer(200, items);
    if (from + size >= seen.length) return answer;
    return { ...answer, headers: { ...answer.headers, [NEXT_TOKEN]: String(from + size) } };
  };
}

function itemOf(world: World, service: SimulatedService, nowMs: number) {
  const { id, name, topology, servers, region = '' } = service;
  const isStopped = world.stopped.includes(id);
  const start = new Date(nowMs - HOUR_MS).toISOString();
  const end = new Date(nowMs + HOUR_MS).toISOString();
  return {
    id,
    name,
    status: isStopped ? 'stopped' : 'ready',
    is_active: !isStopped,
    provider: 'simulated',
    region,
    tier: 'foundation',
    topology,
    version: '11.4.5-2',
    size: 'small',
    nodes: servers.length,
    tags: { team: 'demo' },
    maintenance_window: world.maintained.includes(id) ? { start, end } : null,
  };
}
