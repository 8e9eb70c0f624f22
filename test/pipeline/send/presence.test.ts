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

test.each([
  ['429', { isThrottled: true, retryAfterMs: null }, 10],
  ['Retry-After', { isThrottled: false, retryAfterMs: 20 * SECOND_MS }, 20],
])(
  'a pause that a probe is asked for is kept, then the probes go on: %s',
  async (_, asked, seconds) => {
    const clock = new FakeClock();
    const answers: SendResult[] = [{ ...THROTTLED, ...asked }, ACCEPTED];
    const ask = (): Promise<SendResult> => Promise.resolve(answers.shift() ?? expect.fail());
    const health = new SenderHealth(clock);
    const presence = new Presence({ clock, random: () => 0.5, ask, health });
    const never = new AbortController().signal;
    const found: string[] = [];
    const wait = async (lane: string): Promise<void> => {
      if (await presence.wait(60 * SECOND_MS, never)) found.push(lane);
    };
    void wait('first');
    await clock.advance(2 * SECOND_MS);
    expect(answers).toEqual([ACCEPTED]);
    void wait('second');
    await clock.advance((seconds - 1) * SECOND_MS);
    expect(answers, 'no probe within the pause').toEqual([ACCEPTED]);
    await clock.advance(2 * SECOND_MS);
    expect(found).toEqual(['first', 'second']);
  },
);
