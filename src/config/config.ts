// The configuration as the program uses it: every key of the YAML resolved, with units in the names.
// load.ts makes it; it is read-only from then on. Durations are milliseconds, sizes bytes.

import type { DeclaredType, Family } from '../model/metric.ts';

export interface Config {
  readonly file: string;
  /** Those that this process takes: all of them, unless `shard` divides them. */
  readonly services: readonly ServiceConfig[];
  /** Those that other shards take. */
  readonly elsewhere: readonly ServiceConfig[];
  readonly unconfiguredServices: 'drop' | 'send';
  readonly metrics: MetricsConfig;
  readonly logs: LogsConfig;
  readonly backups: BackupsConfig;
  readonly otlp: OtlpConfig;
  readonly queue: QueueConfig;
  readonly status: { readonly host: string; readonly port: number; readonly token: Secret | null };
  readonly telemetry: { readonly isEnabled: boolean; readonly intervalMs: number };
  readonly shard: { readonly index: number; readonly count: number };
  readonly log: {
    readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
    readonly format: 'json' | 'text';
  };
}

/** How one database service is reached; the global `api` merged with the entry's own. */
export interface ApiConfig {
  /** Without a trailing slash; its origin is the only place the key goes to. */
  readonly baseUrl: string;
  readonly key: Secret;
  readonly headers: Readonly<Record<string, Secret>>;
  readonly timeoutMs: number;
  /** PEM text, or null for the system's roots. */
  readonly ca: string | null;
  /** An http(s) URL, which may hold a user and password. */
  readonly proxy: Secret | null;
  readonly isInsecureAllowed: boolean;
}

/** A value that must not be printed: it shows as `[secret]` wherever it is turned into text. */
export interface Secret {
  /** The text itself; call it where it is sent, and nowhere else. */
  reveal(): string;
  /** Reads the source (file or variable) again; true when the text has changed. */
  refresh(): boolean;
  toString(): string;
  toJSON(): string;
}

export interface ServiceConfig {
  /** The database service id, which is the `namespace` label of its series. */
  readonly id: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly api: ApiConfig;
}

export interface MetricsConfig {
  readonly isEnabled: boolean;
  readonly intervalMs: number;
  readonly path: string;
  readonly mapping: 'semantic' | 'strict';
  readonly namespace: 'resource' | 'prefix';
  readonly prefixes: Readonly<Record<Exclude<Family, 'process' | 'other'>, readonly string[]>>;
  readonly overrides: readonly OverrideConfig[];
  readonly include: readonly RegExp[];
  readonly exclude: readonly RegExp[];
  readonly dropLabels: readonly string[];
  readonly units: 'catalog' | 'page' | 'none';
  readonly honorTimestamps: boolean;
  readonly startTimes: boolean;
  readonly staleMarkers: boolean;
  readonly staleAfterMs: number;
  readonly badShare: number;
  readonly limits: PageLimits;
}

/** The user's word over the catalog's. What is null stays as it was. */
export interface OverrideConfig {
  readonly match: RegExp;
  readonly type:
    | Extract<DeclaredType, 'counter' | 'gauge' | 'info' | 'stateset'>
    | 'updowncounter'
    | null;
  readonly unit: string | null;
  readonly description: string | null;
  readonly uptimeSeries: string | null;
}

export interface PageLimits {
  readonly bodyBytes: number;
  readonly samples: number;
  readonly serviceSamples: number;
  readonly labels: number;
  readonly nameBytes: number;
  readonly valueBytes: number;
}

export interface LogsConfig {
  readonly isEnabled: boolean;
  /** Either an interval in milliseconds or a cron expression (UTC). */
  readonly schedule: { readonly intervalMs: number } | { readonly cron: string };
  readonly shape: 'archives' | 'records';
  readonly types: readonly string[];
  readonly firstStart: { readonly backMs: number } | { readonly at: Date } | 'beginning';
  readonly window: {
    readonly maxMs: number;
    readonly minMs: number;
    readonly settleDelayMs: number;
    readonly overlapMs: number;
    readonly dayCloseGraceMs: number;
  };
  readonly sourceTimezone: string;
  readonly redactLiterals: boolean;
  readonly limits: {
    readonly downloadPerHourBytes: number;
    readonly archiveBytes: number;
    readonly unpackedBytes: number;
    readonly ratio: number;
    readonly entries: number;
    readonly lineBytes: number;
    readonly recordBytes: number;
    readonly setAsideBytes: number;
  };
  readonly endpoints: LogEndpointsConfig;
}

/** The shape of the log API: paths below base_url, names of parameters, JSON pointers into answers. */
export interface LogEndpointsConfig {
  readonly list: string;
  readonly archive: string;
  readonly types: string;
  readonly servers: string;
  readonly retention: string;
  readonly parameters: Readonly<
    Record<
      'from' | 'to' | 'limit' | 'offset' | 'order' | 'type' | 'server' | 'ids' | 'format',
      string
    >
  >;
  readonly pointers: Readonly<
    Record<
      | 'items'
      | 'count'
      | 'id'
      | 'name'
      | 'type'
      | 'server'
      | 'service'
      | 'source'
      | 'size'
      | 'start'
      | 'message'
      | 'time'
      | 'stream',
      string
    >
  >;
  readonly format: 'json' | 'raw';
  /** What the parameter `offset` counts: items from 0, pages from 1; `none`: the answer is always whole. */
  readonly pagination: 'offset' | 'page' | 'none';
  readonly pageSize: number;
}

export interface BackupsConfig {
  readonly isEnabled: boolean;
  readonly intervalMs: number;
  /** The shape of the backup API: paths below base_url, and what a restore calls the path of the backup. */
  readonly endpoints: {
    readonly schedules: string;
    readonly backups: string;
    readonly restores: string;
    readonly restoreKey: 'key' | 'id';
  };
}

export interface OtlpConfig {
  /** Full URLs, signal path included; for gRPC the target's origin. */
  readonly metricsEndpoint: string;
  readonly logsEndpoint: string;
  readonly metrics: OtlpSignalConfig;
  readonly logs: OtlpSignalConfig;
  readonly concurrency: number;
  readonly maxRequestBytes: number;
  readonly temporality: 'cumulative' | 'delta' | 'lowmemory';
}

/** What the standard variables allow to differ per signal. */
export interface OtlpSignalConfig {
  readonly protocol: 'http/protobuf' | 'http/json' | 'grpc';
  readonly compression: 'auto' | 'gzip' | 'zstd' | 'none';
  /** Values may be secrets. */
  readonly headers: Readonly<Record<string, Secret>>;
  readonly timeoutMs: number;
  /** PEM texts. */
  readonly tls: {
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: Secret | null;
  };
}

export interface QueueConfig {
  /** null: bounded memory. */
  readonly directory: string | null;
  readonly metrics: { readonly maxBytes: number; readonly maxAgeMs: number };
  readonly logs: { readonly maxBytes: number };
}
