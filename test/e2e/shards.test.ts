// Several processes with one configuration: together they send every service, and no service twice.

import { expect, test } from 'vitest';
import { useRig } from '../support/rig.ts';
import { type Finished, run } from '../support/program.ts';

const SHARDS = ['0', '1', '2'];
const rig = useRig();

const config = (changes: Readonly<Record<string, unknown>> = {}): string =>
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
  rig.config({ shard: { index: '${env:SHARD}', count: SHARDS.length }, ...changes });

function runShards(file: string): Promise<readonly Finished[]> {
  return Promise.all(SHARDS.map(SHARD => run(['once', '--config', file], { SHARD })));
}

/** The number of `up` points by service, after the first `before` points. */
function upsSince(before: number): Map<string, number> {
  const ups = new Map<string, number>();
  for (const { metric, serviceId } of rig.receiver.points.slice(before)) {
    if (metric === 'up') ups.set(serviceId, (ups.get(serviceId) ?? 0) + 1);
  }
  return ups;
}

test('every service is sent by one shard', async () => {
  const before = rig.receiver.points.length;
  const finished = await runShards(config());
  expect(finished.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(upsSince(before)).toEqual(new Map(rig.ids.map(id => [id, 1])));
});

test('every service without configuration is sent by one shard, too', async () => {
  const file = config({ services: [{ id: rig.ids[0] }], unconfigured_services: 'send' });
  const before = rig.receiver.points.length;
  await runShards(file);
  expect(upsSince(before)).toEqual(new Map(rig.ids.map(id => [id, 1])));
});
