// What /status.json says: the state of a running bridge as plain data. The daemon makes a StatusReport whenever it
// is asked; the server adds what is wrong (problems.ts) and the page renders the result, nothing else. Times are
// RFC 3339 in UTC, durations milliseconds, sizes bytes; null where there is nothing to say yet. No field holds a
// secret: whoever fills it in takes user, password and query out of addresses and uses redacted messages only.

import type { FamilyDrift } from '../catalog/drift.ts';
import type { Signal } from '../model/batch.ts';
import type { Family } from '../model/metric.ts';
import type { Encoding } from '../pipeline/queue/queue.ts';
import type { TimelineSlot } from './timeline.ts';

export interface StatusReport {
  readonly version: string;
  /** When this report was made: ages are counted from here. */
  readonly reportedAt: string;
  readonly startedAt: string;
  /** `starting` until /readyz says ready, `stopping` from the first signal to stop on. */
  readonly state: 'starting' | 'ready' | 'stopping';
  /** While starting: what is still missing, in words. */
  readonly waitingFor: readonly string[];
  readonly targets: readonly TargetReport[];
  /** The configured services, in the order of the configuration. */
  readonly services: readonly ServiceReport[];
  /** Services on the last pages that no entry names. */
  readonly unconfigured: readonly {
    readonly id: string;
    readonly samples: number;
    readonly isSent: boolean;
  }[];
  /** One per signal that is in use or still has something waiting. */
  readonly queue: readonly QueueReport[];
  /** Why the last commit was not simply stored; null when it was. */
  readonly queueTrouble: string | null;
  readonly senders: readonly SenderReport[];
  /** What the back end refused for good last, newest first; at most SET_ASIDE_SHOWN_MAX. */
  readonly setAside: readonly SetAsideReport[];
  readonly account: AccountReport;
  /** null while no logs are pulled. */
  readonly logs: LogsReport | null;
  /** null while backups are not watched. */
  readonly backups: BackupsReport | null;
  /** The last attempt to load a changed configuration; null before the first. */
  readonly reload: ReloadReport | null;
  /** What happened lately, for time lines. */
  readonly timeline: TimelineReport;
  /** Whatever else the operator should know, as sentences: keys that have no effect, a store that was repaired. */
  readonly notes: readonly string[];
}

export const SET_ASIDE_SHOWN_MAX = 20;

/** What is polled as one: an address with a key, for one or more services. */
export interface TargetReport {
  readonly name: string;
  /** Without user, password and query. */
  readonly url: string;
  /** `waiting` before the first scrape; `auth` is down because the key was refused. */
  readonly state: 'waiting' | 'up' | 'down' | 'auth';
  readonly scrapeCount: number;
  readonly failureCount: number;
  readonly lastScrapeAt: string | null;
  readonly lastDurationMs: number | null;
  /** '' after a good scrape; else a word of a closed set, such as `timeout`. */
  readonly lastReason: string;
  /** `cannot <verb> <address>: <cause>`; '' after a good scrape. */
  readonly lastMessage: string;
  /** What to do about it; '' after a good scrape. */
  readonly hint: string;
  readonly nextScrapeAt: string | null;
  /** Of the last page: its size unpacked, its sample lines, and those of them that cannot be read. */
  readonly bodyBytes: number;
  readonly samples: number;
  readonly badLines: number;
  readonly firstProblem: {
    readonly line: number;
    readonly column: number;
    readonly reason: string;
  } | null;
  /** Series that the bridge holds for the target now. */
  readonly series: number;
  /** How the last page was read: as a whole, or only where it differs from the one before. */
  readonly path: 'full' | 'repeating' | null;
  /** By how much our clock is ahead of the service's, by its last answer; null where that does not say. */
  readonly clockSkewMs: number | null;
  /** What the last good page has against the catalog, per family that is on it. */
  readonly drift: Readonly<Partial<Record<Family, FamilyDrift>>>;
}

/** One configured service as its target's last scrape left it. */
export interface ServiceReport {
  /** The database service id. */
  readonly id: string;
  /** `service.name`. */
  readonly name: string;
  /** null before the first scrape. */
  readonly isUp: boolean | null;
  /** '' when up; else the target's reason, `absent`, `bad_lines` or `service_samples`. */
  readonly reason: string;
  /** Samples and unreadable lines of the last page. */
  readonly samples: number;
  readonly badLines: number;
  /** Points made of the last page: of samples, stale markers and the bridge's own series. */
  readonly points: number;
  readonly stalePoints: number;
  /** True when its timestamps have stood still for `metrics.stale_after`. */
  readonly isSourceStale: boolean;
  /** Uptimes of the last page that stand still though their times move. */
  readonly stuckUptimes: number;
  /** Series per family. */
  readonly families: Readonly<Partial<Record<Family, number>>>;
  /** Samples of the last page that made no point, by reason. */
  readonly droppedByReason: Readonly<Record<string, number>>;
}

export interface TimelineReport {
  readonly slotMs: number;
  /** The oldest first; the last is under way. null where nothing was scraped. */
  readonly slots: readonly (Readonly<TimelineSlot> | null)[];
}

export interface ReloadReport {
  readonly at: string;
  /** Why the changed configuration is not used, a line each; [] when it is. */
  readonly mistakes: readonly string[];
}

export interface QueueReport {
  readonly signal: Signal;
  /** Queued requests. */
  readonly rows: number;
  /** Compressed, against the limit. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** Points or log records. */
  readonly points: number;
  readonly oldestAt: string | null;
  readonly newestAt: string | null;
}

export interface SenderReport {
  readonly signal: Signal;
  /** Without user, password and query. */
  readonly endpoint: string;
  /** `retrying`: no answer, again soon; `holding`: the back end takes nothing from us as we are set up. */
  readonly state: 'idle' | 'sending' | 'retrying' | 'holding';
  /** The last answer that was no acceptance; it stays after the back end has recovered. */
  readonly lastError: string | null;
  readonly lastErrorAt: string | null;
  readonly lastAcceptedAt: string | null;
  readonly nextAttemptAt: string | null;
  readonly compression: CompressionReport;
}

/** How requests are compressed, since when, and why. */
export interface CompressionReport {
  readonly encoding: Encoding;
  /** null: since the start. */
  readonly since: string | null;
  readonly reason: string;
}

export interface SetAsideReport {
  readonly signal: Signal;
  readonly service: string;
  readonly points: number;
  /** The back end's own words. */
  readonly reason: string;
  readonly at: string;
}

/** The account of every sample and point since the queue was created; account-report.ts makes it. */
export interface AccountReport {
  readonly total: AccountNumbers;
  /** By service id. */
  readonly services: Readonly<Record<string, AccountNumbers>>;
}

export interface AccountNumbers {
  /** `read` is the sum of the others. */
  readonly samples: {
    readonly read: number;
    readonly used: number;
    /** Consumed: creation times, target_info. */
    readonly metadata: number;
    readonly repeated: number;
    readonly dropped: number;
    readonly droppedByReason: Readonly<Record<string, number>>;
  };
  /** `made` is the sum of the others. Log records count as points. */
  readonly points: {
    readonly made: number;
    readonly accepted: number;
    readonly rejected: number;
    readonly setAside: number;
    readonly evicted: number;
    readonly queued: number;
  };
}

/** The log puller, per service, source and type of log. */
export interface LogsReport {
  readonly partitions: readonly {
    readonly service: string;
    readonly source: string;
    readonly type: string;
    readonly state: 'waiting' | 'pulling' | 'failed';
    /** Everything before is in the queue or delivered. */
    readonly doneUntil: string | null;
    readonly recordCount: number;
    /** Stretches that could not be had and were passed over. */
    readonly gapCount: number;
    readonly lastError: string | null;
  }[];
  /** While a pull is running: how many of the archives that it has to read it has read. */
  readonly catchUp: readonly {
    readonly name: string;
    readonly dueCount: number;
    readonly doneCount: number;
  }[];
  /** The latest archives that were given up, latest first, and where their files are kept. */
  readonly givenUp: readonly {
    readonly at: string;
    readonly service: string;
    readonly type: string;
    readonly archive: string;
    readonly reason: string;
    readonly file: string | null;
  }[];
  readonly nextPullAt: string | null;
}

export interface BackupsReport {
  readonly services: readonly ServiceBackupsReport[];
  readonly nextReadAt: string | null;
}

/** By the last answer of the service; null where there is none that is young enough. */
export interface ServiceBackupsReport {
  /** The database service id. */
  readonly service: string;
  readonly name: string;
  /** Whether the schedules could be read the last time; null before the first. */
  readonly isUp: boolean | null;
  readonly isFullScheduled: boolean | null;
  readonly scheduleCount: number | null;
  readonly nextFullRunAt: string | null;
  readonly lastFullFinishedAt: string | null;
  readonly readAt: string | null;
  readonly lastError: string | null;
  /** What to do about it; '' where all is well. */
  readonly hint: string;
}
