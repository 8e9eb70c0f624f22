// Several processes with one configuration: together they send every service, none of them twice.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type CheckedReceiver, startCheckedReceiver } from '../support/checked-receiver.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { run, tempDirectory, type Finished } from '../support/program.ts';

const SHARDS = ['0', '1', '2'];
const directory = tempDirectory();
let simulator: Simulator;
let receiver: CheckedReceiver;

beforeAll(async () => {
  simulator = await startSimulator({ clock, key: 'k', refreshMs: 1000 });
  receiver = await startCheckedReceiver({
    clock,
  });
});

afterAll(async () => {
  await simulator.close();
  await receiver.close();
  directory[Symbol.dispose]();
});

// Each test starts processes of its own, which know nothing of those before.
beforeEach(() => receiver.gate.anotherSender());

function config(changes: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify({
    api: { base_url: simulator.url, key: 'k' },
    services: simulator.world.services.map(({ id }) => ({ id })),
    otlp: { endpoint: receiver.url },
    queue: { directory: null },
    telemetry: { enabled: false },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
    shard: { index: '${env:SHARD}', count: SHARDS.length },
    ...changes,
  });
  return directory.write('prom2otlp.yaml', text);
}

function runShards(verb: string, file: string): Promise<readonly Finished[]> {
  return Promise.all(SHARDS.map(SHARD => run([verb, '--config', file], { SHARD })));
}

/** By service: how many points of `up` arrived since. */
function upsSince(before: number): Map<string, number> {
  const ups = new Map<string, number>();
  for (const { name, resource } of receiver.points.slice(before)) {
    const id = String(resource['service.instance.id']);
    if (name === 'up') ups.set(id, (ups.get(id) ?? 0) + 1);
  }
  return ups;
}

test('every service is sent by one shard', async () => {
  const before = receiver.points.length;
  const finished = await runShards('once', config({}));
  expect(finished.map(({ code }) => code)).toEqual([0, 0, 0]);
  const want = simulator.world.services.map(({ id }) => [id, 1] as const);
  expect(upsSince(before)).toEqual(new Map(want));
});

test('every service without configuration is sent by one shard, too', async () => {
  const [first] = simulator.world.services;
  const file = config({ services: [{ id: first?.id }], unconfigured_services: 'send' });
  const before = receiver.points.length;
  await runShards('once', file);
  const ups = upsSince(before);
  const want = simulator.world.services.map(({ id }) => [id, 1] as const);
  expect(ups).toEqual(new Map(want));
});

test('each shard reports its index', async () => {
  const said = (await runShards('check', config({}))).map(({ stdout }) => stdout);
  const shares = said.map(line => /valid: (\d) of 4 services?.*, shard (\d) of 3$/m.exec(line));
  expect(shares.map(match => match?.[2])).toEqual(SHARDS);
  const sum = shares.reduce((total, match) => total + Number(match?.[1]), 0);
  expect(sum).toBe(simulator.world.services.length);
});
