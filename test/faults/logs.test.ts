// The process is killed again and again, at random moments and at every named place, while it downloads, commits,
// sends and deletes logs. Every line that was ever written arrives, byte for byte; a line comes twice only where
// the answer to an export was lost; what could not be had is told by a gap.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { LOG_FAILPOINTS } from '../../src/lib/failpoint.ts';
import type { WrittenLine } from '../support/log-book.ts';
import { type Delivered, HOUR, MINUTE } from '../support/log-site.ts';
import { run, start, tempDirectory, until } from '../support/program.ts';
import { countLines, LogWorld } from './support/log-world.ts';
import { randomNumbers } from '../support/random.ts';

/** How often processes are killed in all. */
const KILLS = Number(process.env['KILLS'] ?? 10);

const PLACES = [
  ...LOG_FAILPOINTS,
  ...'commit-begun commit-stored commit-state commit-done send-begun send-answered settle-begun settle-removed settle-done'.split(
    ' ',
  ),
];

const GAP = 'prom2otlp.log.gap';

interface Scene {
  readonly name: string;
  readonly logs: object;
  /** Between two lives, by the service's clock. */
  readonly stepMs: number;
  /** How late lines may be. */
  readonly lateMs: number;
  readonly faults?: object;
  readonly share: number;
}

const SCENES: readonly Scene[] = [
  { name: 'archives of JSON lines', logs: {}, stepMs: 40 * MINUTE, lateMs: 3 * HOUR, share: 0.5 },
  {
    name: 'raw archives, gzip, with the prefixes of a runtime',
    logs: { endpoints: { format: 'raw' } },
    faults: { archiveForm: 'gzip', hasLinePrefix: true },
    stepMs: 5 * MINUTE,
    lateMs: HOUR,
    share: 0.25,
  },
  {
    name: 'records in the list',
    logs: { shape: 'records', endpoints: { list: '/observability/v2/logs/lines', page_size: 50 } },
    stepMs: 3 * MINUTE,
    lateMs: 10 * MINUTE,
    share: 0.25,
  },
];

// Side by side: each spends most of its time on waiting for a process.
describe.concurrent('killed at random moments and at every named place', () => {
  for (const scene of SCENES)
    test(`every line arrives: ${scene.name}`, async () => {
      const kills = Math.max(2, Math.round(KILLS * scene.share));
      const random = randomNumbers(scene.name);
      await using stage = await Stage.open(scene);
      const { world } = stage;
      for (let life = 0; life < kills; life++) {
        world.write(Math.floor(random() * (life % 4 === 0 ? 900 : 60)), random, scene.lateMs);
        world.receiver.behave = () => 200;
        if (random() < 0.2) world.loseAnswer();
        await stage.liveAndDie(life, random);
        world.clock.forward(scene.stepMs);
      }
      await stage.finish();
      judge(world, kills + world.lostAnswers);
      expect(gapsOf(world)).toEqual([]);
    });

  test('no line arrives twice unless an answer was lost', async () => {
    const random = randomNumbers('no answer was lost');
    const [scene] = SCENES;
    await using stage = await Stage.open(scene);
    const { world } = stage;
    for (let life = 0; life < Math.max(2, Math.round(KILLS * 0.2)); life++) {
      world.write(Math.floor(random() * 300), random, HOUR);
      world.receiver.behave = () => 503;
      await stage.liveAndDie(life, random);
      world.clock.forward(10 * MINUTE);
    }
    await stage.finish();
    judge(world, 0);
    expect(gapsOf(world)).toEqual([]);
  });

  test('each gap is reported once, and the rest arrives', async () => {
    const random = randomNumbers('what cannot be had');
    await using stage = await Stage.open(SCENES[0]);
    const { world } = stage;
    const broken = '2026-03-04.orders-1.audit-log';
    world.simulator.setFaults({ archives: { [broken]: 'checksum' } });
    for (let life = 0; life < Math.max(7, Math.round(KILLS * 0.2)); life++) {
      world.write(Math.floor(random() * 40), random, 0);
      await stage.liveAndDie(life, random);
      world.clock.forward(25 * MINUTE);
    }
    // Tries are counted in pulls that were not killed; the last of them may be one of these.
    await stage.finish({ pulls: 8, stepMs: 30 * MINUTE, givenUp: [broken] });
    judge(world, KILLS, line => line.archive !== broken);
    const gaps = gapsOf(world).map(({ attributes }) => attributes['prom2otlp.gap.archive']);
    expect(gaps).toEqual([broken]);
  });
});

interface FinishOptions {
  readonly pulls?: number;
  readonly stepMs?: number;
  /** Ids of archives of which errors may tell. */
  readonly givenUp?: readonly string[];
}

/** A service, a back end, and the program on one directory. */
class Stage implements AsyncDisposable {
  readonly world: LogWorld;
  readonly #files: ReturnType<typeof tempDirectory>;
  readonly #config: string;

  private constructor(world: LogWorld, logs: object) {
    this.world = world;
    this.#files = tempDirectory();
    const text = world.config(`${this.#files.path}/queue`, logs);
    this.#config = this.#files.write('c.yaml', text);
  }

  static async open(scene: Scene | undefined): Promise<Stage> {
    const world = await LogWorld.start();
    world.simulator.setFaults(scene?.faults ?? {});
    return new Stage(world, scene?.logs ?? {});
  }

  /** Every fourth life ends at a random moment, the others at the places in turn. */
  async liveAndDie(life: number, random: () => number): Promise<void> {
    const place = `${PLACES[life % PLACES.length] ?? ''}${random() < 0.3 ? '@2' : ''}`;
    const isRandom = life % 4 === 3;
    const environment: Record<string, string> = isRandom ? {} : { PROM2OTLP_FAILPOINT: place };
    const { child } = start(['run', '--config', this.#config], environment);
    const dead = once(child, 'exit');
    const asked = this.#isAsked(child);
    await Promise.race([dead, asked.then(() => sleep(isRandom ? random() * 2000 : 1500))]);
    child.kill('SIGKILL');
    await dead;
  }

  /** Until the service is asked for something: how long a start takes says nothing. */
  async #isAsked(child: ChildProcess): Promise<void> {
    const { requests } = this.world.simulator;
    const before = requests.count;
    const isOver = (): boolean => (child.exitCode ?? child.signalCode) !== null;
    await until('the first request', () => isOver() || requests.count > before, 60_000);
  }

  /** Whole pulls until nothing is held back any more, everything delivered, no error but of archives `givenUp`. */
  async finish(options: FinishOptions = {}): Promise<void> {
    const { pulls = 4, stepMs = 5 * MINUTE, givenUp = [] } = options;
    this.world.receiver.behave = () => 200;
    for (let pull = 0; pull < pulls; pull++) {
      const { code, stderr } = await run(['once', '--config', this.#config]);
      const isExpected = (line: string): boolean => givenUp.some(id => line.includes(id));
      const errors = stderr.split('\n').filter(line => line !== '' && !isExpected(line));
      expect([code, errors]).toEqual([0, []]);
      this.world.clock.forward(stepMs);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]();
    this.#files[Symbol.dispose]();
  }
}

function gapsOf(world: LogWorld): readonly Delivered[] {
  return world.delivered.filter(({ eventName }) => eventName === GAP);
}

/** `repeatsMax`: only whole requests may come again, one for each export whose answer was lost. */
function judge(
  world: LogWorld,
  repeatsMax: number,
  isExpected: (line: WrittenLine) => boolean = () => true,
): void {
  const delivered = world.delivered.filter(({ eventName }) => eventName !== GAP);
  const issued = countLines(world.book.issued.filter(isExpected).map(({ text }) => text));
  const arrived = countLines(delivered.flatMap(({ body }) => body.split('\n')));
  const missing = [...issued].filter(([line, count]) => (arrived.get(line) ?? 0) < count);
  const more = [...arrived].filter(([line, count]) => (issued.get(line) ?? 0) < count);
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
