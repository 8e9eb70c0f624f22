// A page of 20,000 series and a back end that takes at most 200 points in a request: what the cap costs in processor time,
// and how many refusals teach it. The program runs as a process; its back end only counts.

import { withoutInventory } from '../../bench/without-inventory.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { cpuMsBetween, processUsage } from '../../bench/process-usage.ts';
import { countPoints } from '../../src/pipeline/queue/split.ts';
import { listen } from '../../src/simulator/loopback-server.ts';
import { unpacked } from '../support/back-end.ts';
import { until } from '../support/program.ts';
import { Bridge } from './support/bridge.ts';

const SERIES = 20_000;
const CAP = 200;
const SERVICE = 'dbfaults01';
/** It is four to six times, most of it for a hundred HTTP requests; the rest is for a machine that works on other things. */
const RATIO_MAX = Number(process.env['CAP_RATIO_MAX'] ?? 10);
const PAGES = Number(process.env['CAP_PAGES'] ?? 10);
const WAIT_MS = 120_000;

/** What a back end answers to a request with so many points. */
type Answer = (points: number) => { readonly status: number; readonly body?: string };

const atMost = (status: number, body = ''): Answer => {
  return points => (points > CAP ? { status, body } : { status: 200 });
};

interface World extends AsyncDisposable {
  readonly bridge: Bridge;
  /** Pages served, requests refused, and points of accepted requests. */
  readonly counts: { pages: number; refused: number; points: number };
}

async function world(answer: Answer, otlp: Readonly<Record<string, unknown>>): Promise<World> {
  const counts = { pages: 0, refused: 0, points: 0 };
  const serve = withoutInventory((_request, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(pageText(++counts.pages));
  });
  const source = await listen({}, serve);
  const sink = await listen({}, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = unpacked(request.headers['content-encoding'], Buffer.concat(chunks));
    const points = countPoints('metrics', raw);
    const { status, body = '' } = answer(points);
    if (status === 200) counts.points += points;
    else counts.refused++;
    response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
  });
  const changes = { otlp: { endpoint: sink.url, ...otlp } };
  const bridge = new Bridge({ sourceUrl: source.url, services: [SERVICE], changes });
  return {
    bridge,
    counts,
    [Symbol.asyncDispose]: async () => {
      await bridge[Symbol.asyncDispose]();
      await source.close();
      await sink.close();
    },
  };
}

/** Every series has a new value on each page, and every line ends in a timestamp, as in the service's pages; 50 metrics. */
function pageText(page: number): string {
  const common = `namespace="${SERVICE}",service_name="orders-production",server_name="${SERVICE}-0"`;
  const timeMs = String(Date.now());
  const lines: string[] = [];
  for (let metric = 0; metric < 50; metric++) {
    const name = `engine_load_${String(metric)}_total`;
    lines.push(`# HELP ${name} Operations by table.`, `# TYPE ${name} counter`);
    for (let i = 0; i < SERIES / 50; i++) {
      const labels = `${common},schema="orders",table="customer_orders_${String(i)}",mode="read"`;
      lines.push(`${name}{${labels}} ${String(page * 1000 + i)} ${timeMs}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Processor time of the program per sample, in nanoseconds, once its pages repeat. */
async function costOf(otlp: Readonly<Record<string, unknown>>): Promise<number> {
  await using stage = await world(atMost(otlp['max_points'] === undefined ? 200 : 400), otlp);
  const { bridge, counts } = stage;
  const life = bridge.start();
  await life.ready();
  await until('warm', () => counts.points >= 4 * SERIES, WAIT_MS);
  const [from, pages] = [processUsage(life.child.pid ?? 0), counts.pages];
  await until('measured', () => counts.pages >= pages + PAGES, WAIT_MS);
  const ms = cpuMsBetween(from, processUsage(life.child.pid ?? 0));
  const served = counts.pages - pages;
  await life.stop();
  expect(counts.refused).toBe(0);
  return (ms * 1e6) / (served * SERIES);
}

test(`a cap of ${String(CAP)} points costs at most ${String(RATIO_MAX)} times the processor time of none`, async () => {
  const [without, capped] = [await costOf({}), await costOf({ max_points: CAP })];
  const said = `${without.toFixed(0)} ns a sample without a cap, ${capped.toFixed(0)} ns with it`;
  console.log(said);
  expect(capped / without, said).toBeLessThan(RATIO_MAX);
}, 300_000);

test.each([
  [
    'a named number',
    atMost(400, `maximum number of data points per request exceeded: ${String(CAP)}`),
    1,
  ],
  ['a 413', atMost(413), 8],
  ['a bare 400', atMost(400), 8],
])(
  'the cap is learned from %s',
  async (_name, answer, refusedMax) => {
    await using stage = await world(answer, {});
    const { bridge, counts } = stage;
    const life = bridge.start();
    await life.ready();
    await until('the first page', () => counts.points >= SERIES, WAIT_MS);
    const { refused } = counts;
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(refusedMax);
    await until('later pages', () => counts.points >= 4 * SERIES, WAIT_MS);
    await sleep(100);
    expect(counts.refused).toBe(refused);
    await life.stop();
  },
  300_000,
);
