// Runs a world of processes through the mapping, cumulative and as delta, and reads the sent points as three readers do:
// by start and value, by value alone, and as a sum of deltas. Returns every claim, with what really happened.
import { expect } from 'vitest';
import { readState, type StateBlobs } from '../../src/pipeline/derive/state.ts';
import { amountOf, type OtlpPoint } from './otlp-points.ts';
import {
  type Counter,
  COUNTERS,
  type ProcessWorld,
  tellWorld,
  visibleBetween,
  type WorldState,
} from './process-world.ts';
import { savedAfter, shownPoint, Target } from './target.ts';
import { WireSanity } from './wire-sanity.ts';

export type Reader = 'start' | 'value' | 'delta';

/** A reader's claim that `amount` was counted between two points. */
export interface Claim {
  readonly reader: Reader;
  readonly counter: Counter;
  readonly page: number;
  readonly amount: number;
  /** The true amount in that time, as far as pages show it. */
  readonly happened: number;
  readonly shown: string;
}

export interface WorldRead {
  readonly claims: readonly Claim[];
  /** The points as sent, for the message of a failure. */
  readonly story: readonly string[];
}

/** The state of the readers for one counter. */
interface Seen {
  /** The newest point that has a value. */
  point: OtlpPoint | null;
  /** The world at the newest page that had the counter, even if that page was a baseline. */
  state: WorldState | null;
}

const READERS = { cumulative: ['start', 'value'], delta: ['delta'] } as const;

/** The claims of all readers about a world. Throws when a point is invalid, also after a restart of the bridge. */
export function readWorld(world: ProcessWorld): WorldRead {
  const read: { claims: Claim[]; story: string[] } = { claims: [], story: [] };
  for (const temporality of ['cumulative', 'delta'] as const) readAs(world, temporality, read);
  return read;
}

/** Fails, with the story of the world, when a reader of starts or deltas claims more than has happened. */
export function expectNothingFalse(world: ProcessWorld): void {
  const { claims, story } = readWorld(world);
  const wrong = claims.filter(
    ({ reader, amount, happened }) => reader !== 'value' && amount > happened,
  );
  expect(wrong, story.join('\n')).toEqual([]);
}

/** Fails when these readers do not count exactly what pages after the first one show. */
export function expectAllCounted(world: ProcessWorld): void {
  const { claims, story } = readWorld(world);
  const less = claims.filter(
    ({ reader, page, amount, happened }) => reader !== 'value' && page > 0 && amount !== happened,
  );
  expect(less, story.join('\n')).toEqual([]);
}

function readAs(
  world: ProcessWorld,
  temporality: keyof typeof READERS,
  { claims, story }: { claims: Claim[]; story: string[] },
): void {
  const sanity = new WireSanity();
  let target = newTarget(world, temporality, sanity);
  let blobs: Required<StateBlobs> | null = null;
  const known = new Map<Counter, Seen>();
  for (const name of COUNTERS) known.set(name, { point: null, state: null });
  for (const [page, { seconds, step, text, state }] of [...tellWorld(world)].entries()) {
    const { points, shown } = text === null ? target.fail(seconds) : target.page(seconds, text);
    const uptime = /uptime\{[^}]*\} (\d+)/.exec(text ?? '')?.[1] ?? 'none';
    story.push(
      `${temporality} ${page} @${seconds} ${step.act} process ${state.process} uptime ${uptime}: ${shown.filter(one => !one.startsWith('gauge')).join('; ')}`,
    );
    for (const point of points) {
      const counter = COUNTERS.find(
        name => point.metric === name || point.metric.endsWith(`_status_${name}`),
      );
      const seen = counter === undefined ? undefined : known.get(counter);
      if (counter === undefined || seen === undefined) continue;
      if (point.flags === 1) continue;
      const happened = visibleBetween(seen.state, state, counter);
      for (const reader of READERS[temporality]) {
        const amount = claimOf(reader, point, seen.point);
        claims.push({ reader, counter, page, amount, happened, shown: shownPoint(point) });
      }
      seen.point = point;
    }
    if (step.kind === 'page')
      for (const [counter, seen] of known)
        if (counter !== 'queries' || step.absent !== 'counter') seen.state = state;
    blobs = savedAfter(target, blobs);
    if (!step.isOurRestart) continue;
    target = newTarget(world, temporality, sanity);
    target.translation.table.restored = readState(blobs.starts, blobs.marks);
  }
}

function claimOf(reader: Reader, point: OtlpPoint, before: OtlpPoint | null): number {
  const amount = amountOf(point);
  if (reader === 'delta') return amount;
  const growth = before === null ? 0 : amount - amountOf(before);
  if (reader === 'value') return growth < 0 ? amount : growth;
  if (before !== null && point.startNs === before.startNs) return growth < 0 ? amount : growth;
  // A start that is the point's own time is unknown.
  return point.startNs === point.timeNs ? 0 : amount;
}

function newTarget(
  world: ProcessWorld,
  temporality: keyof typeof READERS,
  sanity: WireSanity,
): Target {
  const dated = { match: /^h$/, type: null, unit: null, description: null };
  const overrides = [{ ...dated, uptimeSeries: 'engine_global_status_uptime' }];
  return new Target({
    sanity,
    temporality,
    metrics: { overrides, intervalMs: world.intervalSeconds * 1000 },
  });
}
