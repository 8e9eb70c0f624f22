// The configuration as the program uses it: every key of the YAML resolved, with units in the names.
// load.ts makes it; it is read-only from then on. Durations are milliseconds, sizes bytes. Below a mark,
// tools/config-schema.ts writes the types from the keys.

import type { Mistake } from '../errors.ts';
import type { Signal } from '../model/batch.ts';

/** A value that must not be printed (secrets.ts): as a text it shows as `[secret]`. */
export interface Secret {
  /** The references that it came from, such as `${file:api-key}`; '' if the text itself is in the configuration. */
  readonly source: string;
  /** The text itself; call it where it is sent, and nowhere else. */
  reveal(): string;
  /** Reads the source (file or variable) again; true when the text has changed. */
  refresh(): boolean;
}

export interface Config {
  readonly file: string;
  /** What does not count: removed keys of the file (removed.ts), and variables that are not understood. */
  readonly warnings: readonly Mistake[];
  /** The services of this process: all of them, unless `shard` divides them. */
  readonly services: readonly ServiceConfig[];
  /** The services of the other shards. */
  readonly elsewhere: readonly ServiceConfig[];
  /** How services are found; null if they are listed. A daemon fills in `services` (daemon/discovery.ts). */
  readonly auto: AutoConfig | null;
  readonly unconfiguredServices: 'drop' | 'send';
  readonly memory: MemoryConfig;
  readonly metrics: MetricsConfig;
  readonly logs: LogsConfig;
  readonly backups: BackupsConfig;
  readonly otlp: OtlpConfig;
  readonly queue: QueueConfig;
  readonly status: { readonly host: string; readonly port: number; readonly token: Secret | null };
  readonly telemetry: TelemetryConfig;
  readonly shard: ShardConfig;
  readonly log: LogConfig;
}

/** Whether anything sends the signal. Backups send both, own telemetry metrics. */
export function isUsed(
  config: Pick<Config, 'metrics' | 'logs' | 'backups' | 'telemetry'>,
  signal: Signal,
): boolean {
  const isOwn = signal === 'metrics' && config.telemetry.isEnabled;
  return isOwn || config.backups.isEnabled || config[signal].isEnabled;
}

export interface ServiceConfig {
  /** The database service id, which is the `namespace` label of its series. */
  readonly id: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly api: ApiConfig;
}

/** The keys of `services: auto`, and the settings that all found services share. */
export interface AutoConfig extends AutoKeys {
  readonly attributes: Readonly<Record<string, string>>;
  readonly api: ApiConfig;
}

export interface OtlpConfig {
  readonly metrics: OtlpSignalConfig;
  readonly logs: OtlpSignalConfig;
  readonly concurrency: number;
  readonly maxRequestBytes: number;
  readonly stuckAfterMs: number;
  readonly temporality: OtlpKeys['temporality'];
  readonly auth: AuthConfig | null;
  /** The key itself; that of a signal may come from a variable. */
  readonly proxy: Secret | null;
}

/** The keys of `otlp.auth`, and the proxy towards its token endpoint. */
export type AuthConfig = NonNullable<OtlpKeys['auth']> & { readonly tokenProxy: Secret | null };

/** The settings that the standard variables can set per signal. Certificates and keys are PEM texts. */
export type OtlpSignalConfig = Pick<
  OtlpKeys,
  'protocol' | 'compression' | 'headers' | 'timeoutMs' | 'tls' | 'proxy'
> & {
  /** The full URL, with the signal's path; for gRPC `http://host:port` or, with TLS, `https://host:port`. */
  readonly endpoint: string;
  /** The names for hints to use instead of keys, such as the variable that sets a key. */
  readonly names?: Readonly<Record<string, string>>;
};

/** The limits that do not fit the memory of the process. */
export interface MemoryConfig {
  /** The memory of the process; null if the system does not report it. */
  readonly memoryBytes: number | null;
  /** Limits that the YAML leaves out, lowered to what fits. Infinity means no limit. */
  readonly lowered: readonly {
    readonly key: string;
    readonly value: number;
    readonly default: number;
  }[];
  /** Limits that the YAML sets above what fits; they are kept. */
  readonly kept: readonly { readonly key: string; readonly value: number; readonly fits: number }[];
}

// Written by tools/config-schema.ts from here on.

/** The keys of `api`. */
export interface ApiConfig {
  readonly baseUrl: string;
  readonly key: Secret;
  readonly headers: Readonly<Record<string, Secret>>;
  readonly timeoutMs: number;
  readonly ca: string | null;
  readonly proxy: Secret | null;
  readonly isInsecureAllowed: boolean;
}

/** The keys of `services.auto`. */
export interface AutoKeys {
  readonly include: readonly RegExp[];
  readonly exclude: readonly RegExp[];
  readonly goneAfterMs: number;
  readonly keepMs: number;
  readonly servicesMax: number;
}

/** The keys of `metrics`. */
export interface MetricsConfig {
  readonly isEnabled: boolean;
  readonly intervalMs: number;
  readonly path: string;
  readonly mapping: 'semantic' | 'strict';
  readonly namespace: 'resource' | 'prefix';
  readonly prefixes: {
    readonly engine: readonly string[];
    readonly multimaster: readonly string[];
    readonly dist: readonly string[];
    readonly proxy: readonly string[];
  };
  readonly overrides: readonly OverrideConfig[];
  readonly rename: readonly RenameConfig[];
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

/** The keys of `metrics.overrides[]`. */
export interface OverrideConfig {
  readonly match: RegExp;
  readonly type: 'counter' | 'gauge' | 'info' | 'stateset' | 'updowncounter' | null;
  readonly unit: string | null;
  readonly description: string | null;
  readonly uptimeSeries: string | null;
}

/** The keys of `metrics.rename[]`. */
export interface RenameConfig {
  readonly match: RegExp;
  readonly name: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The keys of `metrics.limits`. */
export interface PageLimits {
  readonly memoryBytes: number;
  readonly bodyBytes: number;
  readonly samples: number;
  readonly serviceSamples: number;
  readonly series: number;
  readonly labels: number;
  readonly nameBytes: number;
  readonly valueBytes: number;
}

/** The keys of `logs`. */
export interface LogsConfig {
  readonly isEnabled: boolean;
  readonly schedule: { readonly intervalMs: number } | { readonly cron: string };
  readonly types: readonly string[];
  readonly firstStart: { readonly backMs: number } | { readonly at: Date } | 'beginning';
  readonly dayCloseGraceMs: number;
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
  };
  readonly endpoints: LogEndpointsConfig;
}

/** The keys of `logs.endpoints`. */
export interface LogEndpointsConfig {
  readonly list: string;
  readonly archive: string;
  readonly types: string;
  readonly servers: string;
  readonly retention: string;
  readonly parameters: {
    readonly from: string;
    readonly to: string;
    readonly limit: string;
    readonly offset: string;
    readonly order: string;
    readonly type: string;
    readonly server: string;
    readonly ids: string;
    readonly format: string;
  };
  readonly pointers: {
    readonly items: string;
    readonly count: string;
    readonly id: string;
    readonly name: string;
    readonly type: string;
    readonly server: string;
    readonly service: string;
    readonly source: string;
    readonly size: string;
    readonly start: string;
    readonly message: string;
    readonly time: string;
    readonly stream: string;
  };
  readonly format: 'json' | 'raw';
  readonly pagination: 'offset' | 'page' | 'none';
  readonly pageSize: number;
}

/** The keys of `backups`. */
export interface BackupsConfig {
  readonly isEnabled: boolean;
  readonly intervalMs: number;
  readonly endpoints: BackupEndpoints;
}

/** The keys of `backups.endpoints`. */
export interface BackupEndpoints {
  readonly schedules: string;
  readonly backups: string;
  readonly restores: string;
  readonly restoreKey: 'key' | 'id';
}

/** The keys of `otlp`. */
export interface OtlpKeys {
  readonly endpoint: string;
  readonly metricsEndpoint: string | null;
  readonly logsEndpoint: string | null;
  readonly protocol: 'http/protobuf' | 'http/json' | 'grpc';
  readonly compression: 'gzip' | 'zstd' | 'none';
  readonly headers: Readonly<Record<string, Secret>>;
  readonly metrics: { readonly headers: Readonly<Record<string, Secret>> };
  readonly logs: { readonly headers: Readonly<Record<string, Secret>> };
  readonly auth: {
    readonly basic: { readonly user: string; readonly password: Secret } | null;
    readonly oauth2: {
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: Secret;
      readonly scopes: readonly string[];
    } | null;
    readonly google: {
      readonly credentialsFile: Secret;
      readonly scopes: readonly string[];
    } | null;
  } | null;
  readonly proxy: Secret | null;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly maxRequestBytes: number;
  readonly stuckAfterMs: number;
  readonly temporality: 'cumulative' | 'delta' | 'lowmemory';
  readonly tls: {
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: Secret | null;
  };
}

/** The keys of `queue`. */
export interface QueueConfig {
  readonly directory: string | null;
  readonly metrics: { readonly maxBytes: number; readonly maxAgeMs: number };
  readonly logs: { readonly maxBytes: number };
}

/** The keys of `telemetry`. */
export interface TelemetryConfig {
  readonly isEnabled: boolean;
  readonly intervalMs: number;
  readonly serviceName: string;
}

/** The keys of `shard`. */
export interface ShardConfig {
  readonly index: number;
  readonly count: number;
}

/** The keys of `log`. */
export interface LogConfig {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly format: 'auto' | 'json' | 'text';
}
