import { expect, test } from 'vitest';
import { Presence, SenderHealth } from '../../../src/pipeline/send/presence.ts';
import type { SendResult } from '../../../src/pipeline/send/transport.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const SECOND_MS = 1000;
const THROTTLED = {
  kind: 'retry',
  reason: 'slow down',
  status: 429,
  retryAfterMs: null,
  isThrottled: true,
} as const;
const ACCEPTED = { kind: 'accepted', rejected: 0, message: '' } as const;

test('a lane that begins to wait after a probe that was asked for a pause has probes of its own', async () => {
  const clock = new FakeClock();
  const answers: SendResult[] = [THROTTLED, ACCEPTED];
  const ask = (): Promise<SendResult> => Promise.resolve(answers.shift() ?? expect.fail());
  const health = new SenderHealth(clock);
  const presence = new Presence({ clock, random: () => 0.5, ask, health });
  const never = new AbortController().signal;
  const found: string[] = [];
  const wait = async (lane: string): Promise<void> => {
    const isFound = await presence.wait(30 * SECOND_MS, never);
    if (isFound) found.push(lane);
  };
  void wait('first');
  await clock.advance(2 * SECOND_MS);
  expect(answers, 'the first lane waits without probes now').toEqual([ACCEPTED]);
  await clock.advance(5 * SECOND_MS);
  expect(answers).toEqual([ACCEPTED]);
  void wait('second');
  await clock.advance(2 * SECOND_MS);
  expect(found).toEqual(['first', 'second']);
});
