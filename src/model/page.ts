// A target's answer, and decode's report on it, which adds to the columns of the SeriesTable.

export type ExpositionFormat = 'text' | 'openmetrics';

/** When a scrape took place, by every available clock. */
export interface ScrapeTime {
  /** Wall clock when the scrape started: the time of every sample without its own timestamp. */
  readonly startedAtMs: number;
  /** The same moment by the monotonic clock: ages are measured by it. */
  readonly monotonicMs: number;
  readonly durationMs: number;
  /** The `Date` of the answer; NaN without one. */
  readonly serverAtMs: number;
}

/** One good answer of a target, inflated. The bytes are valid until the next poll of the same target. */
export interface Page extends ScrapeTime {
  readonly bytes: Buffer;
  readonly format: ExpositionFormat;
  /** The size on the wire, before inflating. */
  readonly wireBytes: number;
}

/** The services in a target's answer that belong to other shards. */
export interface OtherShards {
  /**
   * How many services configured for the same poll belong to other shards. With `services: auto` it
   * is 1: a series that names no service may not belong to the only service found so far.
   */
  readonly serviceCount: number;
  /** True for each service of another shard, configured or not. */
  takes(id: string): boolean;
}

/** Something wrong at one place of a page. Lines and columns start at 1; columns count bytes. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  readonly reason: string;
}

const FAMILIES_MAX = 100;
const NAMESPACES_MAX = 1000;

/** The limits above which new series are refused, as keys of metrics.limits. */
export type SeriesLimit = 'series' | 'service_samples' | 'memory';

/** The samples of new series that a limit has refused, on one page. */
export class Refused {
  samples = 0;
  /** The limits that refused them. */
  readonly limits: Set<SeriesLimit> = new Set();
  /** By the `namespace` label, '' for samples without it; those of further namespaces count in `samples` alone. */
  readonly byNamespace: Map<string, number> = new Map();
  /** By family name; '' for all families after the first FAMILIES_MAX. */
  readonly byFamily: Map<string, number> = new Map();

  add(limit: SeriesLimit, namespace: string, family: string): void {
    const { byNamespace, byFamily } = this;
    this.samples++;
    this.limits.add(limit);
    if (byNamespace.has(namespace) || byNamespace.size < NAMESPACES_MAX)
      byNamespace.set(namespace, (byNamespace.get(namespace) ?? 0) + 1);
    const name = byFamily.has(family) || byFamily.size < FAMILIES_MAX ? family : '';
    byFamily.set(name, (byFamily.get(name) ?? 0) + 1);
  }
}

/** Decode's report on a page, besides the columns. */
export interface PageReport {
  lines: number;
  /** Sample lines, good and bad. */
  samples: number;
  /** The memory that the page takes, by estimate; 0 if it repeats the one before. */
  bytes: number;
  badLines: number;
  /** Bad lines by their `namespace` label; '' for lines without that label. */
  badByNamespace: Map<string, number>;
  /** decode counts here what the memory refuses, and derive what the other limits refuse. */
  readonly refused: Refused;
  /** The first problems of the page, in order; at most PROBLEMS_MAX. */
  problems: Problem[];
  /**
   * The limit that ended the page, as a key of metrics.limits: the page cannot be used, and `problems[0]` says why. null
   * for a page that can be used.
   */
  limit: string | null;
}

export const PROBLEMS_MAX = 100;

/** The report of a page without problems. */
export function newReport(lines = 0, samples = 0): PageReport {
  const badByNamespace = new Map<string, number>();
  const refused = new Refused();
  return {
    lines,
    samples,
    bytes: 0,
    badLines: 0,
    badByNamespace,
    refused,
    problems: [],
    limit: null,
  };
}
