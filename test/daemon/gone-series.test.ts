// While a service is gone, the queue keeps its series once, under the address of its API.

import { beforeEach, expect, test } from 'vitest';
import { bringBack, forgotten, keyOf, setAside } from '../../src/daemon/gone-series.ts';
import type { RestoredState } from '../../src/model/memory.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { States } from '../support/states.ts';
import { restoredState, Target } from '../support/target.ts';

const A = { address: 'https://api.example.com', id: 'a' };

let states: States;
let queue: Queue;
let target: Target;

beforeEach(() => {
  states = new States();
  queue = states as unknown as Queue;
  target = new Target({ services: ['a', 'b'] });
  target.page(0, 'x{namespace="a"} 1\ny{namespace="a"} 2\nx{namespace="b"} 3\n');
});

const store = (state: Awaited<ReturnType<typeof setAside>>): Promise<unknown> =>
  states.commit({ batches: [], reads: [], state });

const gone = async (state: RestoredState = restoredState(target)): Promise<unknown> =>
  store(await setAside([A], state));

const stateBack = async (
  places: Parameters<typeof bringBack>[1],
  state: RestoredState | null,
): Promise<RestoredState | null> => (await bringBack(queue, places, state)).state;

test('they return once, with all that the target has by then', async () => {
  await gone();
  expect(states.blobs.size).toBe(2);
  const returned = await stateBack([A], null);
  expect(returned?.indexById.size).toBe(2);
  expect(states.blobs.size, 'until the state of the target has them').toBe(2);
  await store(forgotten(keyOf(A)));
  expect(await stateBack([A], returned)).toBe(returned);
});

test('they leave the state of the target, and come back to it', async () => {
  const state = restoredState(target);
  await gone(state);
  expect(state.indexById.size).toBe(1);
  const joined = await stateBack([A], state);
  expect(joined?.indexById.size).toBe(3);
});

test('many go and come back at once: the state is gone over once, and no series is lost', async () => {
  const ids = Array.from({ length: 20 }, (_, i) => `s${i}`);
  const many = new Target({ services: ids });
  many.page(0, ids.map(id => `x{namespace="${id}"} 1\ny{namespace="${id}"} 2\n`).join(''));
  const state = restoredState(many);
  const all = new Set(state.indexById.keys());
  const places = ids.slice(5).map(id => ({ ...A, id }));
  let passes = 0;
  const { indexById } = state;
  indexById[Symbol.iterator] = () => (passes++, indexById.entries());
  await store(await setAside(places, state));
  expect(indexById.size).toBe(10);
  const { state: back, changes } = await bringBack(queue, places, state);
  expect(passes).toBe(2);
  expect(new Set(back?.indexById.keys())).toEqual(all);
  await store([...changes]);
  expect(states.blobs.size).toBe(0);
});

test('another address, or another service, has other series', async () => {
  await gone();
  expect(await stateBack([{ ...A, address: 'https://other.example.com' }], null)).toBeNull();
  expect(await stateBack([{ ...A, id: 'b' }], null)).toBeNull();
  expect(states.blobs.size).toBe(2);
});

test('a service without series stores nothing', async () => {
  await store(await setAside([{ ...A, id: 'c' }], restoredState(target)));
  expect(states.blobs.size).toBe(0);
});

test('what is forgotten does not return, and what is damaged is as if it were not there', async () => {
  await gone();
  for (const key of states.blobs.keys()) states.blobs.set(key, Buffer.from('junk'));
  expect(await stateBack([A], null)).toBeNull();
  await gone();
  await states.commit({ batches: [], reads: [], state: forgotten(keyOf(A)) });
  expect(states.blobs.size).toBe(0);
  expect(await stateBack([A], null)).toBeNull();
});
