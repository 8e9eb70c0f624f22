// A real MariaDB and its exporter, with a ledger that records all statements, refused logins and server processes.

import { setTimeout as delay } from 'node:timers/promises';
import { type Kind, type Ledger, type Life } from '../../support/truth-ledger.ts';
import { exporter } from '../parts/exporter.ts';
import { exporterUser, mariadb, type MariadbRunning } from '../parts/mariadb.ts';
import type { Running } from '../support/part.ts';
import { beRefused, CountedConnection } from './counted-client.ts';

export interface ServerPage {
  readonly text: string;
  /** The process that wrote the counters on it. */
  readonly life: Life;
}

const FETCH_MS = 2000;

export class CountedServer implements Running {
  readonly #database: MariadbRunning;
  readonly #exporterUrl: string;
  readonly #exporter: Running;
  readonly #ledger: Ledger;
  #life: Life | null;
  #connection: CountedConnection | null = null;
  /** Each work waits for the one before: a flush must know what happened before it. */
  #asking: Promise<unknown> = Promise.resolve();

  private constructor(
    database: MariadbRunning,
    source: Running & { readonly url: string },
    ledger: Ledger,
  ) {
    this.#database = database;
    this.#exporter = source;
    this.#exporterUrl = `${source.url}?collect[]=global_status`;
    this.#ledger = ledger;
    this.#life = ledger.begin();
  }

  static async start(ledger: Ledger): Promise<CountedServer> {
    const database = await mariadb.start({ isLoaded: false });
    const { name, password } = exporterUser;
    const user = `${name}@'127.0.0.1'`;
    await database.sql(`create user ${user} identified by '${password}';
      grant process, replication client, slave monitor, binlog monitor on *.* to ${user};`);
    const source = await exporter.start({ databasePort: database.port });
    return new CountedServer(database, source, ledger);
  }

  /** The process that runs now. */
  get life(): Life | null {
    return this.#life;
  }

  /** Sends `count` statements or refused logins, one after the other. Ends early when the server is killed meanwhile. */
  ask(kind: Kind, count: number): Promise<void> {
    return this.#inTurn(async () => {
      for (let i = 0; i < count; i++) {
        const life = this.#life;
        if (life === null) return;
        try {
          await this.#askOne(life, kind);
        } catch (error) {
          this.#connection?.close();
          this.#connection = null;
          if (this.#life === life && !isGone(error)) throw error;
          return;
        }
      }
    });
  }

  async #askOne(life: Life, kind: Kind): Promise<void> {
    if (kind === 'refusals') {
      this.#ledger.asked(life, kind, Date.now());
      if (await beRefused(this.#database.port)) this.#ledger.done(life, kind, Date.now());
      return;
    }
    this.#connection ??= await CountedConnection.open(this.#database.port);
    this.#ledger.asked(life, kind, Date.now());
    await this.#connection.run('do 0');
    this.#ledger.done(life, kind, Date.now());
  }

  /** Runs FLUSH STATUS; `gate` keeps pages from being fetched meanwhile. */
  flush(gate: (work: () => Promise<void>) => Promise<void>): Promise<void> {
    return this.#inTurn(() =>
      gate(async () => {
        const life = this.#life;
        if (life === null) throw new Error('cannot flush a server that does not run');
        await this.#database.sql('flush status');
        this.#ledger.flushed(life);
      }),
    );
  }

  /** Kills the server with SIGKILL, even while it works. */
  async kill(): Promise<void> {
    this.#life = null;
    await this.#database.halt('SIGKILL');
    this.#connection?.close();
    this.#connection = null;
  }

  async resume(): Promise<void> {
    await this.#database.resume();
    this.#life = this.#ledger.begin();
  }

  /** The exporter's page. `life` is null if it has no counters: without a server, or if the exporter cannot reach it. */
  async page(): Promise<ServerPage | { readonly text: string; readonly life: null }> {
    for (;;) {
      const before = this.#life;
      const answer = await fetch(this.#exporterUrl, { signal: AbortSignal.timeout(FETCH_MS) });
      const text = await answer.text();
      if (!/^mysql_global_status_uptime /m.test(text)) return { text, life: null };
      // A new server may answer before `#life` is set, and a killed server may have answered before its kill.
      const life = before ?? this.#life;
      const isSure = life !== null && (this.#life === life || this.#life === null);
      if (isSure) return { text, life };
      await delay(20);
    }
  }

  async stop(): Promise<void> {
    this.#life = null;
    this.#connection?.close();
    await this.#exporter.stop();
    await this.#database.stop();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#asking.then(work);
    this.#asking = done.catch(() => undefined);
    return done;
  }
}

function isGone(error: unknown): boolean {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return /^E(?:CONNRE|PIPE)/.test(code) || message.includes('gone');
}
