// `services: auto`: which services come, go and stay. The tests show pages a minute apart.

import { beforeEach, describe, expect, test } from 'vitest';
import type { AutoConfig } from '../../src/config/config.ts';
import { defaultConfig } from '../../src/config/load.ts';
import { Discovery, DISCOVERY_COUNTERS } from '../../src/daemon/discovery.ts';
import { Counters } from '../../src/lib/counters.ts';
import { ThrottledLog } from '../../src/lib/log.ts';
import { shardOf } from '../../src/lib/shard.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type RecordingLogger, recordingLogger } from '../support/recording-logger.ts';
import { States } from '../support/states.ts';
import { testApi } from '../support/test-api.ts';

const MINUTE_MS = 60_000;
const HOUR = 60;
const DAY = 24 * HOUR;

const AUTO: AutoConfig = {
  include: [],
  exclude: [],
  goneAfterMs: 60 * MINUTE_MS,
  keepMs: 30 * DAY * MINUTE_MS,
  servicesMax: 1000,
  attributes: {},
  apis: [testApi('https://api.example.com')],
};

let clock: FakeClock;
let states: States;
let counters: Counters;
let recorded: RecordingLogger;

beforeEach(() => {
  clock = new FakeClock();
  states = new States();
  counters = new Counters();
  recorded = recordingLogger(clock);
});

async function open(
  auto: Partial<AutoConfig> = {},
  former: Discovery | null = null,
  shard: { index: number; count: number } = { index: 0, count: 1 },
): Promise<Discovery> {
  const { metrics, logs } = defaultConfig();
  const config = { auto: { ...AUTO, ...auto }, metrics, logs, shard };
  const log = new ThrottledLog(recorded.logger, clock);
  const queue = states as unknown as Queue;
  const isStopped = (id: string): boolean => id === 'stopped';
  const options = { config, queue, clock, counters, log, isStopped };
  const discovery = await Discovery.prepare(options, former);
  await discovery.begin();
  return discovery;
}

/** The services on a page: `id`, or `id=name`. */
type Page = readonly string[];

function sighting(ids: Page, isComplete = true) {
  const pairs = ids.map((text): [string, Set<string>] => {
    const [id = '', ...names] = text.split('=');
    return [id, new Set(names)];
  });
  return { api: 0, names: new Map(pairs), isComplete };
}

/** Shows the same page every minute, `count` times. */
async function pages(
  discovery: Discovery,
  count: number,
  ids: Page,
  isComplete = true,
): Promise<void> {
  for (let i = 0; i < count; i++) {
    await clock.advance(MINUTE_MS);
    discovery.see(sighting(ids, isComplete));
  }
}

/** A discovery that has seen one page. */
async function seen(ids: Page, ...how: Parameters<typeof open>): Promise<Discovery> {
  const discovery = await open(...how);
  await pages(discovery, 1, ids);
  return discovery;
}

const namesOf = ({ services }: Discovery): string[] =>
  services.map(({ id, name }) => `${id} ${name}`);
const idsOf = ({ services }: Discovery): string[] => services.map(({ id }) => id);
const counted = (change: string): number => counters.of(DISCOVERY_COUNTERS).changes.get(change);
const many = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `db${String(from + i).padStart(5, '0')}`);

describe('a service comes', () => {
  test('with the first page that has it, under the name on that page', async () => {
    const discovery = await seen(['db2=ledger', 'db1=orders', 'db3']);
    expect(namesOf(discovery)).toEqual(['db1 orders', 'db2 ledger', 'db3 db3']);
    expect(discovery.hasChanged).toBe(true);
    expect(counted('came')).toBe(3);
    expect(JSON.stringify(recorded.log)).toContain('services came');
  });

  test('only if include and exclude select its id or its name', async () => {
    const rules = { include: [/^prod-.*$/u, /^db9$/u], exclude: [/^.*-test$/u] };
    const discovery = await seen(['db1=prod-a', 'db2=other', 'db9=x', 'db4=prod-test'], rules);
    expect(idsOf(discovery)).toEqual(['db1', 'db9']);
  });

  test('not above max_services: further ones are left out, counted and told', async () => {
    const discovery = await seen(many(20_000), { servicesMax: 50 });
    expect(idsOf(discovery)).toEqual(many(50));
    expect(discovery.leftOut).toBe(19_950);
    expect(counters.of(DISCOVERY_COUNTERS).leftOut.get('limit')).toBe(19_950);
    expect(JSON.stringify(recorded.log)).toContain('max_services');
    await pages(discovery, 1, [...many(50), 'zz']);
    expect(discovery.leftOut).toBe(1);
  });

  test('not with a name that cannot be an id', async () => {
    const discovery = await seen(['a b', 'c,d', 'e\u001B[31m', 'x'.repeat(300), 'fine']);
    expect(idsOf(discovery)).toEqual(['fine']);
    expect(counters.of(DISCOVERY_COUNTERS).leftOut.get('id')).toBe(4);
  });

  test('with a name that is one printable line, also on a page that is not complete', async () => {
    const discovery = await open();
    await pages(discovery, 1, ['db1=a\n\u001B[31mb'], false);
    expect(discovery.services[0]?.name).toBe('a ?[31mb');
  });
});

describe('a service goes', () => {
  test('after an hour of good pages without it, and is told', async () => {
    const discovery = await seen(many(10));
    const rest = many(9);
    await pages(discovery, HOUR - 1, rest);
    expect(idsOf(discovery)).toEqual(many(10));
    expect(discovery.absent).toEqual([
      { id: 'db00009', name: 'db00009', absentMs: 59 * MINUTE_MS },
    ]);
    await pages(discovery, 1, rest);
    expect(idsOf(discovery)).toEqual(rest);
    expect(counted('gone')).toBe(1);
    expect(discovery.changes[0]).toMatchObject({ id: 'db00009', change: 'gone' });
    expect(JSON.stringify(recorded.log)).toContain('services are gone');
  });

  test('not while it returns within the hour, however often', async () => {
    const discovery = await seen(['db1', 'db2']);
    for (let turn = 0; turn < 5; turn++) {
      await pages(discovery, HOUR - 1, ['db1']);
      await pages(discovery, 1, ['db1', 'db2']);
    }
    expect(idsOf(discovery)).toEqual(['db1', 'db2']);
    expect(counted('gone')).toBe(0);
  });

  test('not for pages that are empty, or not complete, or that never came', async () => {
    const discovery = await seen(['db1', 'db2']);
    await pages(discovery, 5 * HOUR, []);
    await pages(discovery, 5 * HOUR, ['db1'], false);
    await clock.advance(10 * HOUR * MINUTE_MS);
    await pages(discovery, 5, ['db1']);
    expect(idsOf(discovery)).toEqual(['db1', 'db2']);
  });

  test('with all others that have been absent for as long', async () => {
    const discovery = await seen(many(100));
    await pages(discovery, 10, many(99));
    await pages(discovery, HOUR - 11, ['db00000']);
    expect(discovery.services).toHaveLength(100);
    await pages(discovery, 1, ['db00000']);
    expect(idsOf(discovery)).toEqual(many(99));
    await pages(discovery, 10, ['db00000']);
    expect(idsOf(discovery)).toEqual(['db00000']);
    await pages(discovery, 1, many(100));
    expect(discovery.services).toHaveLength(100);
  });

  test('at once if the configuration excludes it, and returns with its pages', async () => {
    const first = await seen(['db1=a', 'db2=b']);
    const second = await open({ exclude: [/^b$/u] }, first);
    expect(idsOf(second)).toEqual(['db1']);
    const third = await seen(['db1=a', 'db2=b'], {}, second);
    expect(idsOf(third)).toEqual(['db1', 'db2']);
  });
});

describe('a name', () => {
  test('changes with the first complete page without the former one', async () => {
    const discovery = await seen(['db1=orders']);
    await pages(discovery, 1, ['db1=sales'], false);
    expect(discovery.services[0]?.name).toBe('orders');
    await pages(discovery, 1, ['db1=sales']);
    expect(discovery.services[0]?.name).toBe('sales');
    expect(counted('renamed')).toBe(1);
  });

  test('stays while the page has it beside others, or has none', async () => {
    const discovery = await seen(['db1=orders']);
    await pages(discovery, 2 * HOUR, ['db1=orders=another']);
    await pages(discovery, 2 * HOUR, ['db1']);
    expect(discovery.services[0]?.name).toBe('orders');
  });

  test('that is excluded ends the service', async () => {
    const discovery = await seen(['db1=orders', 'db2=x'], { exclude: [/^old-.*$/u] });
    await pages(discovery, 1, ['db1=old-orders', 'db2=x']);
    expect(idsOf(discovery)).toEqual(['db2']);
  });

  test('moves to another id as a newcomer: the former id stays until it is gone', async () => {
    const discovery = await seen(['db1=orders']);
    await pages(discovery, 1, ['db2=orders']);
    expect(namesOf(discovery)).toEqual(['db1 orders', 'db2 orders']);
    await pages(discovery, HOUR, ['db2=orders']);
    expect(idsOf(discovery)).toEqual(['db2']);
  });
});

describe('the list', () => {
  test('is kept for the next process, whose hours begin anew', async () => {
    const first = await seen(['db1=orders', 'db2']);
    await pages(first, HOUR - 1, ['db1=orders']);
    await open({}, first);
    const next = await open();
    expect(namesOf(next)).toEqual(['db1 orders', 'db2 db2']);
    expect(next.hasChanged).toBe(false);
    await pages(next, HOUR, ['db1=orders']);
    expect(idsOf(next)).toEqual(['db1', 'db2']);
    await pages(next, 1, ['db1=orders']);
    expect(idsOf(next)).toEqual(['db1']);
  });

  test('survives a reload in the middle of an hour', async () => {
    const first = await seen(['db1', 'db2']);
    await pages(first, 30, ['db1']);
    const second = await open({}, first);
    await pages(second, 30, ['db1']);
    expect(idsOf(second)).toEqual(['db1']);
  });

  test('of another address is another list', async () => {
    const first = await seen(['db1']);
    const second = await open({ apis: [testApi('https://eu.example.com')] }, first);
    expect(idsOf(second)).toEqual([]);
  });

  test('that is damaged, or of another version, is none', async () => {
    const texts = [
      '{',
      '{"version":2,"services":[{"id":"a","name":"a"}]}',
      '{"version":1,"services":[{"id":"a","name":"a"}]}',
      '{"version":1,"services":[{"id":7}],"gone":[]}',
    ];
    for (const text of texts) {
      states.blobs.set('discovered-services https://api.example.com', Buffer.from(text));
      expect(idsOf(await open())).toEqual([]);
    }
  });

  test('of each shard has the ids that are dealt to it, whatever the others know', async () => {
    const count = 3;
    const lists: string[][] = [];
    for (const index of [0, 1, 2]) {
      states = new States();
      const discovery = await open({}, null, { index, count });
      // Each shard sees another page.
      await pages(discovery, 1, many(30 + index * 10));
      lists.push(idsOf(discovery));
    }
    for (const [index, list] of lists.entries())
      expect(list).toEqual(many(30 + index * 10).filter(id => shardOf(id, count) === index));
    expect(
      lists
        .flat()
        .filter(id => id < 'db00030')
        .sort(),
    ).toEqual(many(30));
  });

  test('leads to a reload at once when it was empty, then only every few pages', async () => {
    const first = await seen(['db1']);
    expect(first.isDue).toBe(true);
    const second = await seen(['db1', 'db2'], {}, first);
    expect([second.hasChanged, second.isDue]).toEqual([true, false]);
    await pages(second, 4, ['db1', 'db2']);
    expect(second.isDue).toBe(true);
  });
});

describe('the state of a service that is gone', () => {
  /** Stores what log pulls and backup reads store for a service. */
  function leaveState(id: string): void {
    const partition = JSON.stringify([id, 'source', 'error-log']);
    const stored = {
      version: 1,
      floorMs: 0,
      openDayMs: 0,
      listedMs: null,
      partitions: [{ source: 'source', server: 's', type: 'error-log' }],
    };
    states.blobs.set(`logs service/${id}`, Buffer.from(JSON.stringify(stored)));
    states.blobs.set(
      `logs archives/${partition}`,
      Buffer.from(JSON.stringify({ version: 1, archives: {} })),
    );
    states.blobs.set(`backup-schedules ${id}`, Buffer.from('{}'));
  }
  const stateOf = (id: string): string[] =>
    [...states.blobs.keys()].filter(key => key.includes(id));

  test('is kept for 30 days, then deleted', async () => {
    const first = await seen(['db1', 'db2']);
    for (const id of ['db1', 'db2']) leaveState(id);
    await pages(first, HOUR, ['db1']);
    const second = await open({}, first);
    await clock.advance(29 * DAY * MINUTE_MS);
    await pages(second, 1, ['db1']);
    expect(second.hasChanged).toBe(false);
    expect(stateOf('db2')).toHaveLength(3);
    await clock.advance(DAY * MINUTE_MS);
    await pages(second, 1, ['db1']);
    expect(second.isDue).toBe(true);
    await open({}, second);
    expect(stateOf('db2')).toEqual([]);
    expect(stateOf('db1')).toHaveLength(3);
  });

  test('stays when it returns in time', async () => {
    const first = await seen(['db1', 'db2']);
    leaveState('db2');
    await pages(first, HOUR, ['db1']);
    const second = await open({}, first);
    await clock.advance(20 * DAY * MINUTE_MS);
    await pages(second, 1, ['db1', 'db2']);
    const third = await open({}, second);
    await clock.advance(20 * DAY * MINUTE_MS);
    await pages(third, 1, ['db1', 'db2']);
    await open({}, third);
    expect(stateOf('db2')).toHaveLength(3);
  });

  test('is deleted early, the oldest first, where more are gone than max_services', async () => {
    let discovery = await open({ servicesMax: 2 });
    for (let turn = 0; turn < 4; turn++) {
      await pages(discovery, 1, ['db0', `gone${turn}`]);
      leaveState(`gone${turn}`);
      await pages(discovery, HOUR, ['db0']);
      discovery = await open({ servicesMax: 2 }, discovery);
    }
    const kept = [0, 1, 2, 3].filter(turn => stateOf(`gone${turn}`).length > 0);
    expect(kept).toEqual([2, 3]);
  });
});

test('a service that is stopped is never gone, however long the page lacks it', async () => {
  const discovery = await open();
  await pages(discovery, 1, ['stopped', 'gone', 'here']);
  await pages(discovery, 3 * HOUR, ['here']);
  expect(idsOf(discovery)).toEqual(['here', 'stopped']);
});

describe('several APIs', () => {
  const apis = ['eu', 'us'].map(region => testApi(`https://${region}.example.com`));
  const see = (discovery: Discovery, api: number, ids: Page): void =>
    discovery.see({ ...sighting(ids), api });
  const homes = (discovery: Discovery): Readonly<Record<string, number>> =>
    Object.fromEntries(discovery.services.map(({ id, api }) => [id, apis.indexOf(api)]));

  test('give each service to the one whose page has it, and the page of one says nothing of the other', async () => {
    const discovery = await open({ apis });
    for (let i = 0; i < 2 * HOUR; i++) {
      await clock.advance(MINUTE_MS);
      see(discovery, 0, ['db1', 'both']);
      see(discovery, 1, ['db2', 'both']);
    }
    expect(homes(discovery)).toEqual({ both: 0, db1: 0, db2: 1 });
    // The next process knows them, too.
    await discovery.begin();
    expect(homes(await open({ apis }))).toEqual({ both: 0, db1: 0, db2: 1 });
  });

  test('move a service that leaves the page of one for that of the other', async () => {
    const discovery = await open({ apis });
    for (const [first, second] of [
      [['db1', 'x'], ['db2']],
      [['x'], ['db1', 'db2']],
    ] as const)
      for (let i = 0; i < 3; i++) {
        await clock.advance(MINUTE_MS);
        see(discovery, 0, first);
        see(discovery, 1, second);
      }
    expect(homes(discovery)).toEqual({ db1: 1, db2: 1, x: 0 });
    expect(discovery.hasChanged).toBe(true);
  });

  test('that leave the configuration take their services with them', async () => {
    const discovery = await open({ apis });
    await clock.advance(MINUTE_MS);
    see(discovery, 0, ['db1']);
    see(discovery, 1, ['db2']);
    expect(homes(await open({ apis: apis.slice(0, 1) }, discovery))).toEqual({ db1: 0 });
  });
});
