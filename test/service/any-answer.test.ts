// Any JSON from the service, of the right shape or not: each reader returns an answer or an error, and never throws.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { AgentApi } from '../../src/service/agent-api.ts';
import { ServiceClient } from '../../src/service/client.ts';
import type { ServiceHttp } from '../../src/service/http-client.ts';
import { backupGauges } from '../../src/backups/service-backups.ts';
import { readBackups } from '../../src/backups/known-backups.ts';

const AGENT = 'c0ffee00-0000-4000-8000-000000000000';
const RUNS = { numRuns: 500 };

/** An HTTP client that gets this answer to every request. */
function answering(json: unknown): ServiceHttp {
  const answer = { ok: true, status: 200, headers: {}, json, startedAtMs: 0, durationMs: 0 };
  const never = (): never => {
    throw new Error('not asked for here');
  };
  return {
    requestJson: () => Promise.resolve(answer),
    get: never,
    download: never,
    isKeyNew: never,
    nameOf: (key: string) => key,
    close: never,
  } as unknown as ServiceHttp;
}

/** JSON with the expected member names and values of any type. */
function jsonWith(...names: readonly string[]): fc.Arbitrary<unknown> {
  const member = fc.constantFrom(...names);
  const plain = fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.double(),
    fc.string(),
    fc.constant('2026-03-04T02:10:00Z'),
  );
  const thing = fc.dictionary(member, plain, { maxKeys: 5 });
  const value = fc.oneof(plain, thing, fc.array(fc.oneof(plain, thing), { maxLength: 4 }));
  return fc.oneof(value, fc.dictionary(member, value, { maxKeys: 5 }));
}

test('the agent', async () => {
  const outcomes = new Set<boolean>();
  const names = 'response sql data session_id content error_text col_keys session'.split(' ');
  await fc.assert(
    fc.asyncProperty(jsonWith(...names), async json => {
      const agent = new AgentApi(answering(json), '/copilot/v1');
      outcomes.add((await agent.chat({ prompt: 'x', agent_id: AGENT })).ok);
      outcomes.add((await agent.createSession({ agent_id: AGENT })).ok);
    }),
    RUNS,
  );
  expect(outcomes.size).toBe(2);
});

test('schedules and backups', async () => {
  const outcomes = new Set<boolean>();
  const names =
    'schedules backups id type schedule suspended scheduled_at end_time status pages_count'.split(
      ' ',
    );
  await fc.assert(
    fc.asyncProperty(jsonWith(...names), async json => {
      const read = await readBackups({
        client: new ServiceClient({ http: answering(json) }),
        serviceId: 'db1',
        restorable: ['full'],
        before: null,
        clock: systemClock,
        signal: new AbortController().signal,
      });
      outcomes.add(read.ok);
      if (read.ok) backupGauges(read.known, true, 0);
    }),
    RUNS,
  );
  expect(outcomes.size).toBe(2);
});
