// The process is killed again and again, at random times and at every failpoint, while it downloads, commits, sends
// and deletes logs. Every line that was ever written arrives unchanged. A line comes twice only if the answer to an
// export was lost. A gap reports lines that could not be read.

import { describe, expect, test } from 'vitest';
import { LOG_FAILPOINTS } from '../../src/lib/failpoint.ts';
import { countLines, type WrittenLine } from '../support/log-book.ts';
import { type Delivered, HOUR, MINUTE } from '../support/log-site.ts';
import { LogWorld, type LogWorldOptions } from './support/log-world.ts';
import { randomNumbers } from '../support/random.ts';

/** The number of kills, of which each test takes a share. */
const KILLS = Number(process.env['KILLS'] ?? 10);

const PLACES = [
  ...LOG_FAILPOINTS,
  ...'commit-begun commit-stored commit-state commit-done send-begun send-answered settle-begun settle-removed settle-done'.split(
    ' ',
  ),
];

const GAP = 'prom2otlp.log.gap';

interface Scene extends LogWorldOptions {
  readonly name: string;
  /** The time between two lives, by the service's clock. */
  readonly stepMs: number;
  /** How late lines may be. */
  readonly lateMs: number;
  readonly share: number;
}

const SCENES: readonly Scene[] = [
  { name: 'archives of JSON lines', logs: {}, stepMs: 40 * MINUTE, lateMs: 3 * HOUR, share: 0.6 },
  {
    name: 'raw archives, gzip, with the prefixes of a runtime',
    logs: { endpoints: { format: 'raw' } },
    faults: { archiveForm: 'gzip', hasLinePrefix: true },
    stepMs: 5 * MINUTE,
    lateMs: HOUR,
    share: 0.4,
  },
];

// The tests run side by side, because each mostly waits for a process.
describe.concurrent('killed at random moments and at every named place', () => {
  for (const scene of SCENES)
    test(`every line arrives: ${scene.name}`, async () => {
      const kills = Math.max(2, Math.round(KILLS * scene.share));
      const random = randomNumbers(scene.name);
      await using world = await LogWorld.start(scene);
      for (let life = 0; life < kills; life++) {
        world.write(Math.floor(random() * (life % 4 === 0 ? 900 : 60)), random, scene.lateMs);
        world.receiver.behave = () => 200;
        if (random() < 0.2) world.loseAnswer();
        await liveAndDie(world, life, random);
        world.clock.forward(scene.stepMs);
      }
      await finish(world);
      judge(world, kills + world.lostAnswers);
      expect(gapsOf(world)).toEqual([]);
    });

  test('no line arrives twice unless an answer was lost', async () => {
    const random = randomNumbers('no answer was lost');
    await using world = await LogWorld.start({ logs: {} });
    for (let life = 0; life < Math.max(2, Math.round(KILLS * 0.2)); life++) {
      world.write(Math.floor(random() * 300), random, HOUR);
      world.receiver.behave = () => 503;
      await liveAndDie(world, life, random);
      world.clock.forward(10 * MINUTE);
    }
    await finish(world);
    judge(world, 0);
    expect(gapsOf(world)).toEqual([]);
  });

  test('each gap is reported once, and the rest arrives', async () => {
    const random = randomNumbers('what cannot be had');
    await using world = await LogWorld.start({ logs: {} });
    const broken = '2026-03-04.orders-1.audit-log';
    world.simulator.setFaults({ archives: { [broken]: 'checksum' } });
    for (let life = 0; life < Math.max(7, Math.round(KILLS * 0.2)); life++) {
      world.write(Math.floor(random() * 40), random, 0);
      await liveAndDie(world, life, random);
      world.clock.forward(25 * MINUTE);
    }
    // Only pulls that were not killed count as tries; the last try may be one of the pulls here.
    await finish(world, { pulls: 8, stepMs: 30 * MINUTE, givenUp: [broken] });
    judge(world, KILLS, line => line.archive !== broken);
    const gaps = gapsOf(world).map(({ attributes }) => attributes['prom2otlp.gap.archive']);
    expect(gaps).toEqual([broken]);
  });
});

interface FinishOptions {
  readonly pulls?: number;
  readonly stepMs?: number;
  /** Ids of archives that errors may name. */
  readonly givenUp?: readonly string[];
}

/** Every fourth life ends at a random time, the others at the failpoints in turn. */
async function liveAndDie(world: LogWorld, life: number, random: () => number): Promise<void> {
  const place = `${PLACES[life % PLACES.length] ?? ''}${random() < 0.3 ? '@2' : ''}`;
  if (life % 4 === 3) await world.liveAndDie(null, random() * 2000);
  else await world.liveAndDie(place, 1500);
}

/** Runs whole pulls until no record is held back and all are delivered. Errors may name only the archives `givenUp`. */
async function finish(world: LogWorld, options: FinishOptions = {}): Promise<void> {
  const { pulls = 4, stepMs = 5 * MINUTE, givenUp = [] } = options;
  world.receiver.behave = () => 200;
  for (let pull = 0; pull < pulls; pull++) {
    const [code, lines] = await world.once();
    const errors = lines.filter(line => !givenUp.some(id => line.includes(id)));
    expect([code, errors]).toEqual([0, []]);
    world.clock.forward(stepMs);
  }
}

function gapsOf(world: LogWorld): readonly Delivered[] {
  return world.delivered.filter(({ eventName }) => eventName === GAP);
}

/**
 * Only whole requests may come again, at most `repeatsMax`: one for each export whose answer was lost. Lines that are not
 * expected, as of a broken archive, may arrive.
 */
function judge(
  world: LogWorld,
  repeatsMax: number,
  isExpected: (line: WrittenLine) => boolean = () => true,
): void {
  const delivered = world.delivered.filter(({ eventName }) => eventName !== GAP);
  const issued = countLines(world.book.issued.filter(isExpected).map(({ text }) => text));
  const written = countLines(world.book.issued.map(({ text }) => text));
  const arrived = countLines(delivered.flatMap(({ body }) => body.split('\n')));
  const missing = [...issued].filter(([line, count]) => (arrived.get(line) ?? 0) < count);
  const more = [...arrived].filter(([line, count]) => (written.get(line) ?? 0) < count);
  const uids = delivered.map(({ uid }) => uid);
  console.log(
    `logs: ${world.book.issued.length} lines written, ${delivered.length} records in ${world.requests.length} requests, ` +
      `${world.repeatedRequests} of them again; ${missing.length} lines missing, ${more.length} too often`,
  );
  expect(missing.slice(0, 5), 'lines that never arrived').toEqual([]);
  expect(more.slice(0, 5), 'lines that arrived too often, or were never written').toEqual([]);
  expect(new Set(uids).size, 'ids of records').toBe(uids.length);
  expect(world.repeatedRequests).toBeLessThanOrEqual(repeatsMax);
  expect(issued.size).toBeGreaterThan(0);
}
