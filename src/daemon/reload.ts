// Keeps a daemon running, and replaces it after a SIGHUP, a change of the configuration's files, or
// a change of the services that were found.
// A configuration that cannot be used changes nothing: the running daemon continues. The refusal is
// counted. The mistakes are logged, and shown on the status page until the configuration is correct.

import { keysForRestart, WatchedFiles } from '../config/changes.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import type { ReadTextFile } from '../config/text-file.ts';
import { Daemon } from './daemon.ts';
import { formatMistake, OperatorError } from '../errors.ts';
import type { Bell } from '../lib/bell.ts';
import type { Clock } from '../lib/clock.ts';
import { createLogger, type Logger } from '../lib/log.ts';

export interface SupervisorOptions {
  readonly file: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Ends the waiting of a start, which then throws the reason for waiting. */
  readonly stop?: AbortSignal;
}

/** The last attempt to load another configuration. */
export interface Reload {
  readonly atMs: number;
  /** Why the changed configuration is not used, one line for each mistake; [] if it is used. */
  readonly mistakes: readonly string[];
}

/** How often the files are checked. A change counts after a second check without another change. */
const LOOK_MS = 5000;
const MISTAKES_KEPT_MAX = 20;
/** How long a start waits for another process in all, and how often it tries. */
const START_WAIT_MS = 30_000;
const START_LOOK_MS = 500;

export const RELOAD_COUNTERS = {
  reloads: {
    name: 'prom2otlp_config_reloads_total',
    help: 'Attempts to load a changed configuration by outcome: taken, or refused (the previous one stays in use).',
    labels: ['outcome'],
  },
  refused: {
    name: 'prom2otlp_config_refused_state',
    help: '1 while a changed configuration is not used because of a mistake.',
  },
} as const;

export class Supervisor {
  /** The current one; a reload replaces it. */
  daemon: Daemon;
  lastReload: Reload | null = null;
  readonly #options: SupervisorOptions;
  readonly #files: WatchedFiles;
  readonly #startEndMs: number;

  private constructor(
    options: SupervisorOptions,
    files: WatchedFiles,
    daemon: Daemon,
    startEndMs: number,
  ) {
    this.#options = options;
    this.#files = files;
    this.daemon = daemon;
    this.#startEndMs = startEndMs;
    daemon.counters.of(RELOAD_COUNTERS).refused.set(0);
  }

  /**
   * Throws an OperatorError if the configuration cannot be used, or if another process holds the
   * queue for longer than START_WAIT_MS. The daemon is not started yet.
   */
  static async open(options: SupervisorOptions): Promise<Supervisor> {
    const { file, environment, clock } = options;
    const startEndMs = clock.monotonicMs() + START_WAIT_MS;
    const files = new WatchedFiles();
    const config = await files.load(readFile => loadConfig({ file, environment, readFile }));
    const logger = createLogger({ ...config.log, clock });
    const open = (): Promise<Daemon> => Daemon.open({ config, clock, logger });
    const daemon = await keepTrying(open, { ...options, logger, endMs: startEndMs });
    return new Supervisor(options, files, daemon, startEndMs);
  }

  /** Calls `open` as a part of the start, and repeats it while another process holds what it needs. */
  waitFor<T>(open: () => Promise<T>): Promise<T> {
    const { logger } = this.daemon;
    return keepTrying(open, { ...this.#options, logger, endMs: this.#startEndMs });
  }

  /**
   * Runs until `stop`; a running reload is finished first. Each ring causes a reload at once, even
   * a ring before this call: the file may have changed after it was read.
   */
  async run(stop: AbortSignal, hangUp: Bell): Promise<void> {
    this.daemon.start();
    let seen = 0;
    while (!stop.aborted) {
      await hangUp.wait(seen, stop, { clock: this.#options.clock, ms: LOOK_MS });
      const isAsked = hangUp.rings !== seen;
      seen = hangUp.rings;
      if (stop.aborted) return;
      if (isAsked || this.#files.look()) await this.reload();
      else if (this.daemon.discovery?.isDue === true) await this.#replace(this.daemon.config);
    }
  }

  async #replace(config: Config): Promise<void> {
    this.daemon = await this.daemon.anotherFor(config);
    this.daemon.start();
  }

  /** Loads the file again. A mistake of the operator is logged, not thrown. */
  async reload(): Promise<void> {
    const { clock } = this.#options;
    const { counters, logger, config: running } = this.daemon;
    const { reloads, refused } = counters.of(RELOAD_COUNTERS);
    let mistakes: readonly string[] = [];
    try {
      await this.#files.load(readFile => this.#replace(this.#load(running, readFile)));
      const { targets, config } = this.daemon;
      const services = config.services.length;
      logger.info({ targets: targets.length, services }, 'the configuration was loaded again');
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      mistakes = error.mistakes.slice(0, MISTAKES_KEPT_MAX).map(formatMistake);
      const message = 'the changed configuration is not used, the previous one stays in use';
      logger.error({ mistakes }, message);
    }
    reloads.add(1, mistakes.length === 0 ? 'taken' : 'refused');
    refused.set(mistakes.length === 0 ? 0 : 1);
    this.lastReload = { atMs: clock.nowMs(), mistakes };
  }

  #load(running: Config, readFile: ReadTextFile): Config {
    const { file, environment } = this.#options;
    const config = loadConfig({ file, environment, readFile });
    const keys = keysForRestart(running, config);
    if (keys.length === 0) return config;
    throw new OperatorError(
      keys.map(key => ({
        message: `cannot change ${key} while running: the process is built around it`,
        hint: `restart the program, or restore the former value; until then the daemon uses nothing of the new configuration`,
      })),
    );
  }
}

/**
 * Calls `open` again while it fails for a transient reason, until `endMs` (monotonic) or `stop`.
 * Then throws the OperatorError. Logs each reason once.
 */
async function keepTrying<T>(
  open: () => Promise<T>,
  options: Pick<SupervisorOptions, 'clock' | 'stop'> & { logger: Logger; endMs: number },
): Promise<T> {
  const { clock, stop, logger, endMs } = options;
  const logged = new Set<string>();
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const leftMs = endMs - clock.monotonicMs();
      const isHopeless = leftMs <= 0 || stop?.aborted === true;
      if (isHopeless || !(error instanceof OperatorError) || !error.isTransient) throw error;
      const cause = error.message;
      if (!logged.has(cause))
        logger.warn({ cause, waitSeconds: Math.ceil(leftMs / 1000) }, 'cannot start yet: waiting');
      logged.add(cause);
      await clock.sleep(Math.min(START_LOOK_MS, leftMs), stop);
    }
  }
}
