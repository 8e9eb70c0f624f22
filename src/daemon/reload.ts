// Keeps a daemon running, and puts another in its place when the configuration has changed: at a SIGHUP, and when
// one of its files does. A configuration that cannot be used changes nothing: the daemon that runs goes on, and what
// is wrong is logged, counted and shown on the page until it is mended.

import { keysForRestart, WatchedFiles } from '../config/changes.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { Daemon } from './daemon.ts';
import { formatMistake, OperatorError } from '../errors.ts';
import type { Bell } from '../lib/bell.ts';
import type { Clock } from '../lib/clock.ts';
import { createLogger, type Logger } from '../lib/log.ts';

export interface SupervisorOptions {
  readonly file: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Ends the waiting of a start: what it waits for is thrown then. */
  readonly stop?: AbortSignal;
}

/** The last attempt to load another configuration. */
export interface Reload {
  readonly atMs: number;
  /** What is wrong with the configuration that was not taken, a line each; [] when it was taken. */
  readonly mistakes: readonly string[];
}

/** How often the files are looked at; a change counts once a second look finds nothing further changed. */
const LOOK_MS = 2000;
const MISTAKES_KEPT_MAX = 20;
/** How long a start waits, in all, for what another process holds, and how often it looks. */
const START_WAIT_MS = 30_000;
const START_LOOK_MS = 500;

export class Supervisor {
  readonly logger: Logger;
  #daemon: Daemon;
  #lastReload: Reload | null = null;
  readonly #options: SupervisorOptions;
  readonly #files: WatchedFiles;
  readonly #startEndMs: number;

  private constructor(options: SupervisorOptions, parts: StartedParts) {
    const { files, daemon, startEndMs } = parts;
    this.#options = options;
    this.#files = files;
    this.#daemon = daemon;
    this.#startEndMs = startEndMs;
    this.logger = daemon.logger;
  }

  /**
   * Throws OperatorError when the configuration cannot be used, or another process keeps the queue for longer than a
   * start waits. The daemon is not started yet.
   */
  static async open(options: SupervisorOptions): Promise<Supervisor> {
    const { file, environment, clock } = options;
    const startEndMs = clock.monotonicMs() + START_WAIT_MS;
    const files = new WatchedFiles();
    const config = loadConfig({ file, environment, readFile: files.read });
    const logger = createLogger({ ...config.log, clock });
    const open = (): Promise<Daemon> => Daemon.open({ config, clock, logger });
    const daemon = await keepTrying(open, { ...options, logger, endMs: startEndMs });
    return new Supervisor(options, { files, daemon, startEndMs });
  }

  /** What `open` makes for this start: while another process holds what it needs, it is tried again. */
  waitFor<T>(open: () => Promise<T>): Promise<T> {
    return keepTrying(open, { ...this.#options, logger: this.logger, endMs: this.#startEndMs });
  }

  /** The one that runs now. */
  get daemon(): Daemon {
    return this.#daemon;
  }

  /** null before the first. */
  get lastReload(): Reload | null {
    return this.#lastReload;
  }

  /**
   * Runs until `stop`; a reload that is under way then is finished first. Each ring asks for a reload at once, also one
   * from before: what it was about may have been written after the file was read.
   */
  async run(stop: AbortSignal, hangUp: Bell): Promise<void> {
    this.#daemon.start();
    let seen = 0;
    while (!stop.aborted) {
      await this.#nap(stop, hangUp, seen);
      const isAsked = hangUp.rings !== seen;
      seen = hangUp.rings;
      if (!stop.aborted && (isAsked || this.#files.look())) await this.reload();
    }
  }

  /** Until the next look at the files, a ring after `seen`, or the end. */
  async #nap(stop: AbortSignal, hangUp: Bell, seen: number): Promise<void> {
    const nap = new AbortController();
    const end = (): void => nap.abort();
    stop.addEventListener('abort', end);
    void hangUp.wait(seen, nap.signal).then(end);
    await this.#options.clock.sleep(LOOK_MS, nap.signal);
    stop.removeEventListener('abort', end);
    end();
  }

  /** Takes what the file now says; never throws for what an operator can write. */
  async reload(): Promise<void> {
    const { clock } = this.#options;
    const { counters, config: running } = this.#daemon;
    const reloads = counters.counter(
      'prom2otlp_config_reloads_total',
      'Attempts to load a changed configuration by outcome: taken, or refused (the previous one stays in use).',
      ['outcome'],
    );
    let mistakes: readonly string[] = [];
    try {
      const config = this.#load(running);
      const { logger } = this;
      this.#daemon = await Daemon.open({ config, clock, logger, former: this.#daemon });
      this.#daemon.start();
      const { targets } = this.#daemon;
      const services = config.services.length;
      logger.info({ targets: targets.length, services }, 'the configuration was loaded again');
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      mistakes = error.mistakes.slice(0, MISTAKES_KEPT_MAX).map(formatMistake);
      this.logger.error(
        { mistakes },
        'the changed configuration is not used, the previous one stays in use',
      );
    }
    reloads.add(1, mistakes.length === 0 ? 'taken' : 'refused');
    this.#lastReload = { atMs: clock.nowMs(), mistakes };
  }

  #load(running: Config): Config {
    const { file, environment } = this.#options;
    const config = loadConfig({ file, environment, readFile: this.#files.read });
    const keys = keysForRestart(running, config);
    if (keys.length === 0) return config;
    throw new OperatorError(
      keys.map(key => ({
        code: 'E_CONFIG_RESTART',
        message: `cannot change ${key} while running`,
        hint: `restart the program, or restore the former value; until then the daemon uses nothing of the new configuration`,
      })),
    );
  }
}

interface StartedParts {
  readonly files: WatchedFiles;
  readonly daemon: Daemon;
  readonly startEndMs: number;
}

/**
 * What `open` gives; while it fails for a reason that may pass by itself, it is tried again until `endMs` (monotonic),
 * or it is stopped; then its OperatorError is thrown. Each reason is logged once.
 */
async function keepTrying<T>(
  open: () => Promise<T>,
  options: Pick<SupervisorOptions, 'clock' | 'stop'> & { logger: Logger; endMs: number },
): Promise<T> {
  const { clock, stop, logger, endMs } = options;
  const told = new Set<string>();
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const leftMs = endMs - clock.monotonicMs();
      const isHopeless = leftMs <= 0 || stop?.aborted === true;
      if (isHopeless || !(error instanceof OperatorError) || !error.isTransient) throw error;
      const cause = error.message;
      if (!told.has(cause))
        logger.warn({ cause, waitSeconds: Math.ceil(leftMs / 1000) }, 'cannot start yet: waiting');
      told.add(cause);
      await clock.sleep(Math.min(START_LOOK_MS, leftMs), stop);
    }
  }
}
