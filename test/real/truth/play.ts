// The acts on the servers of the ledger, round by round, while they constantly get statements: kill -9, FLUSH STATUS,
// failover to an older and to a younger server, an exporter that is cut off, a crash loop. The steps are counted in
// polls, so that every scraper sees the state before and after each act.

import { setTimeout as delay } from 'node:timers/promises';
import type { Kind, Ledger } from '../../support/truth-ledger.ts';
import { until } from '../../support/program.ts';
import type { CountedServer } from './counted-server.ts';
import type { Switchboard, TruthFront } from './truth-front.ts';

export const CRASHES_A_ROUND = 3;
/** The error of a start that is derived from whole seconds, plus the tolerance of the rules (F5). */
const DOUBT_MS = 12_000;
const PATIENCE_MS = 60_000;

export const FAILOVERS = [
  'failover to an older',
  'failover to a younger',
  'kill and failover',
] as const;
/** The scenes in which the uptime, or a value that falls, shows every reset. */
export const TOLD_SCENES = [
  'calm',
  'kill',
  'kill and overtake',
  'cut off',
  'restart while cut off',
  'flush',
] as const;
/** In the first scene, the value exceeds the old one by the next page, so no page shows that it was set to zero. */
const OTHER_SCENES = ['flush and overtake', 'crash loop'] as const;
export type Scene = (typeof FAILOVERS | typeof TOLD_SCENES | typeof OTHER_SCENES)[number];
export const SCENES: readonly Scene[] = [...TOLD_SCENES, ...FAILOVERS, ...OTHER_SCENES];

export class Play {
  readonly #ledger: Ledger;
  readonly #board: Switchboard;
  readonly #servers: readonly [CountedServer, CountedServer];
  readonly #fronts: readonly TruthFront[];
  #isOver = false;

  constructor(
    ledger: Ledger,
    board: Switchboard,
    servers: readonly [CountedServer, CountedServer],
    fronts: readonly TruthFront[],
  ) {
    this.#ledger = ledger;
    this.#board = board;
    this.#servers = servers;
    this.#fronts = fronts;
  }

  async run(rounds: number): Promise<void> {
    const [, other] = this.#servers;
    await other.ask('statements', 5000);
    await other.ask('refusals', 300);
    const asking = this.#servers.map(server => this.#keepAsking(server));
    await this.#polls(4);
    for (let round = 0; round < rounds; round++) await this.#round(round);
    this.#enter('crash loop');
    for (let crash = 0; crash < rounds * CRASHES_A_ROUND; crash++) {
      await this.#kill();
      await this.#resume();
      await delay((crash * 700) % 3000);
    }
    await this.#polls(5);
    this.#isOver = true;
    await Promise.all(asking);
  }

  async #round(round: number): Promise<void> {
    this.#enter('kill');
    await this.#kill();
    await this.#polls(round % 3);
    await this.#resume();
    // A second restart that comes sooner could be taken for the first, shown by a late uptime.
    await this.#polls(6);

    this.#enter('kill and overtake');
    await this.#restartAndOvertake();
    // Lets the process grow so old that even an uptime from before the cut does not place its start within the cut.
    await this.#polls(8);

    this.#enter('cut off');
    this.#board.isCut = true;
    await this.#polls(3);
    this.#board.isCut = false;
    await this.#polls(3);
    this.#enter('restart while cut off');
    this.#board.isCut = true;
    await this.#restartAndOvertake();
    await this.#polls(2);
    this.#board.isCut = false;
    await this.#polls(4);

    this.#enter('flush');
    await this.#active.ask('refusals', 10);
    await this.#polls(2);
    await this.#active.flush(this.#board.gate);
    await this.#polls(3);
    this.#enter('flush and overtake');
    const before = this.#fronts[0]?.readings.at(-1)?.values.refusals ?? 0;
    await this.#active.flush(this.#board.gate);
    await this.#active.ask('refusals', before + 5);
    await this.#polls(3);

    await this.#failOvers();
  }

  /** Restarts the server, and makes the next page show higher values than the last one. */
  async #restartAndOvertake(): Promise<void> {
    const { statements, refusals } = this.#fronts[0]?.readings.at(-1)?.values ?? NOTHING;
    await this.#kill();
    await this.#resume();
    await this.#active.ask('statements', statements + 50);
    await this.#active.ask('refusals', refusals + 5);
  }

  async #failOvers(): Promise<void> {
    this.#enter('failover to an older');
    const young = this.#active;
    await this.#switchTo(this.#standby);
    await this.#polls(4);

    // Makes it younger, but not so young that it could have begun since the last page.
    await young.kill();
    await young.resume();
    await Promise.all([delay(DOUBT_MS + 1000), this.#polls(DOUBT_MS / 1000 + 1)]);
    this.#enter('failover to a younger');
    await this.#switchTo(young);
    await this.#polls(4);

    this.#enter('kill and failover');
    const left = this.#active;
    await this.#kill();
    await this.#switchTo(this.#standby);
    await left.resume();
    await this.#polls(4);
    this.#enter('calm');
    await this.#polls(2);
  }

  /** The server that answers under the labels; `#standby` is the other one. */
  get #active(): CountedServer {
    return this.#board.server;
  }

  get #standby(): CountedServer {
    const [one, other] = this.#servers;
    return this.#active === one ? other : one;
  }

  #enter(scene: Scene): void {
    this.#board.scene = scene;
  }

  async #kill(): Promise<void> {
    await this.#active.kill();
    this.#ledger.stand(null, Date.now());
  }

  async #resume(): Promise<void> {
    await this.#active.resume();
    this.#ledger.stand(this.#active.life, Date.now());
  }

  #switchTo(server: CountedServer): Promise<void> {
    return this.#board.gate(() => {
      this.#board.server = server;
      this.#ledger.stand(server.life, Date.now());
      return Promise.resolve();
    });
  }

  /** Waits until every scraper has got `count` more pages. */
  async #polls(count: number): Promise<void> {
    const goals = this.#fronts.map(({ pages }) => pages.length + count);
    await until(
      `${count} polls`,
      () => this.#fronts.every(({ pages }, i) => pages.length >= (goals[i] ?? 0)),
      PATIENCE_MS,
    );
  }

  async #keepAsking(server: CountedServer): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      await server.ask('statements', 1 + ((turn * 7) % 20));
      if (turn % 5 === 0) await server.ask('refusals', 1);
      await delay(20 + ((turn * 13) % 80));
    }
  }
}

const NOTHING: Readonly<Record<Kind, number>> = { statements: 0, refusals: 0 };
