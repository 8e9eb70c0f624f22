// Keeps a daemon running, and reloads it after a SIGHUP, a change of the configuration's files, or a change of the
// services that were found. A configuration that cannot be used changes nothing. The refusal is counted. The mistakes
// are logged, and shown on the status page until the configuration is correct; so are the keys that need a restart.

import { WatchedFiles, withFixed } from '../config/changes.ts';
import { loadConfig } from '../config/load.ts';
import { Daemon } from './daemon.ts';
import { formatMistake, OperatorError } from '../errors.ts';
import type { Bell } from '../lib/bell.ts';
import type { Clock } from '../lib/clock.ts';
import { type AdjustableLogger, createLogger, type Logger } from '../lib/log.ts';

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
  /** Changed keys that need a restart; everything else is used. */
  readonly restart: readonly string[];
}

/** The configuration in use. */
export interface Loaded {
  /** As named at the start. */
  readonly file: string;
  readonly atMs: number;
  /** It was changed, and what is in use is still the former content. */
  readonly isStale: boolean;
  readonly lastReload: Reload | null;
}

/** The message and hint for keys that need a restart. */
export function restartFor(keys: readonly string[]): {
  readonly message: string;
  readonly hint: string;
} {
  return {
    message: `${keys.join(' and ')} changed, but cannot change while the program runs: everything else is used`,
    hint: 'Restart the program, or restore the former value.',
  };
}

/** How often the files are checked. A change counts after a second check without another change. */
const LOOK_MS = 1000;
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
  readonly daemon: Daemon;
  lastReload: Reload | null = null;
  #loadedAtMs: number;
  readonly #options: SupervisorOptions;
  readonly #logger: AdjustableLogger;
  readonly #files: WatchedFiles;
  readonly #startEndMs: number;

  private constructor(
    options: SupervisorOptions,
    parts: { files: WatchedFiles; logger: AdjustableLogger; daemon: Daemon; startEndMs: number },
  ) {
    this.#options = options;
    this.#logger = parts.logger;
    this.#files = parts.files;
    this.daemon = parts.daemon;
    this.#startEndMs = parts.startEndMs;
    this.#loadedAtMs = options.clock.nowMs();
    this.daemon.counters.of(RELOAD_COUNTERS).refused.set(0);
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
    const logger = createLogger({ ...config.log, clock, environment });
    const open = (): Promise<Daemon> => Daemon.open({ config, clock, logger });
    const daemon = await keepTrying(open, { ...options, logger, endMs: startEndMs });
    return new Supervisor(options, { files, logger, daemon, startEndMs });
  }

  get loaded(): Loaded {
    const { lastReload } = this;
    const isRefused = (lastReload?.mistakes.length ?? 0) > 0;
    const isStale = isRefused || this.#files.isUnsettled;
    return { file: this.#options.file, atMs: this.#loadedAtMs, isStale, lastReload };
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
      else if (this.daemon.isReloadDue) await this.daemon.reloadFound();
    }
  }

  /** Loads the file again. A mistake of the operator is logged, not thrown. */
  async reload(): Promise<void> {
    const { daemon } = this;
    const { reloads, refused } = daemon.counters.of(RELOAD_COUNTERS);
    const logger = this.#logger;
    let mistakes: readonly string[] = [];
    let restart: readonly string[] = [];
    try {
      restart = await this.#load();
      const [targets, services] = [daemon.targets.length, daemon.config.services.length];
      logger.info({ targets, services }, 'the configuration was loaded again');
      if (restart.length > 0) {
        const { message, hint } = restartFor(restart);
        logger.warn({ hint }, message);
      }
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      mistakes = error.mistakes.slice(0, MISTAKES_KEPT_MAX).map(formatMistake);
      const message = 'the changed configuration is not used, the previous one stays in use';
      logger.error({ mistakes }, message);
    }
    reloads.add(1, mistakes.length === 0 ? 'taken' : 'refused');
    refused.set(mistakes.length === 0 ? 0 : 1);
    const atMs = this.#options.clock.nowMs();
    if (mistakes.length === 0) this.#loadedAtMs = atMs;
    this.lastReload = { atMs, mistakes, restart };
  }

  /** Returns the changed keys that need a restart. */
  #load(): Promise<readonly string[]> {
    const { file, environment } = this.#options;
    return this.#files.load(async readFile => {
      const wanted = loadConfig({ file, environment, readFile });
      const { config, restart } = withFixed(this.daemon.config, wanted);
      await this.daemon.reload(config);
      this.#logger.use(config.log);
      return restart;
    });
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
