import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { inTurns } from '../../../src/pipeline/collect/schedule.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const TARGETS = Array.from({ length: 200 }, (_, index) => index);

test('every target is scraped once, never more than 16 at a time', async () => {
  const seen: number[] = [];
  let [running, most] = [0, 0];
  await inTurns(TARGETS, new FakeClock(), async index => {
    most = Math.max(most, ++running);
    await sleep(index % 3);
    seen.push(index);
    running--;
  });
  expect(seen.toSorted((a, b) => a - b)).toEqual(TARGETS);
  expect(most).toBe(16);
});

test('targets that do not answer delay no others', async () => {
  const seen: number[] = [];
  const hanging = Promise.withResolvers<void>();
  const scrapes = inTurns(TARGETS, systemClock, async index => {
    if (index < 100) await hanging.promise;
    seen.push(index);
  });
  await expect.poll(() => seen.length).toBe(100);
  hanging.resolve();
  await scrapes;
  expect(seen).toHaveLength(200);
});

test('a failure is reported once the others have begun', async () => {
  let begun = 0;
  const scrapes = inTurns(TARGETS, new FakeClock(), async index => {
    begun++;
    await sleep(1);
    if (index === 3) throw new Error('broken');
  });
  await expect(scrapes).rejects.toThrow('broken');
  expect(begun).toBe(200);
});
