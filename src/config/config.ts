// The configuration as the program uses it: every key of the YAML resolved, with units in the names. The types follow
// from the declarations in keys.ts; here they have names. load.ts makes the configuration; it is read-only from then on.
// Durations are milliseconds, sizes bytes.

import type { Mistake } from '../errors.ts';
import type { Signal } from '../model/batch.ts';
import type { ValueOf } from './declare.ts';
import type { backupEndpoints, logEndpoints } from './endpoints.ts';
import type { ListenAddress } from './http-kinds.ts';
import type { ApiKeys, ConfigKeys, ServiceEntry } from './keys.ts';
import type { Secret } from './secrets.ts';
import { readServiceAccount } from './service-account.ts';

export type { Secret } from './secrets.ts';

export interface Config
  extends Omit<ConfigKeys, 'api' | 'attributes' | 'services' | 'otlp' | 'status'> {
  readonly file: string;
  /** What a newer spelling replaces in the file (deprecated.ts), and variables that are not understood. */
  readonly warnings: readonly Mistake[];
  /** The services of this process: all of them, unless `shard` divides them. */
  readonly services: readonly ServiceConfig[];
  /** The services of the other shards. */
  readonly elsewhere: readonly ServiceConfig[];
  /** How services are found; null if they are listed. A daemon fills in `services` (daemon/discovery.ts). */
  readonly auto: AutoConfig | null;
  readonly memory: MemoryConfig;
  readonly otlp: OtlpConfig;
  readonly status: ListenAddress & Omit<ConfigKeys['status'], 'listen'>;
}

export type MetricsConfig = ConfigKeys['metrics'];
export type BackfillConfig = MetricsConfig['backfill'];
export type LogsConfig = ConfigKeys['logs'];
export type LogEndpointsConfig = ValueOf<typeof logEndpoints>;
export type BackupEndpoints = ValueOf<typeof backupEndpoints>;

/** Whether anything sends the signal. Backups send both, own telemetry metrics. */
export function isUsed(
  config: Pick<Config, 'metrics' | 'logs' | 'backups' | 'telemetry'>,
  signal: Signal,
): boolean {
  const isOwn = signal === 'metrics' && config.telemetry.isEnabled;
  return isOwn || config.backups.isEnabled || config[signal].isEnabled;
}

/** The keys of `api` for one service. */
export type ApiConfig = { readonly [Name in keyof ApiKeys]: Exclude<ApiKeys[Name], undefined> };

/** `id` is the database service id: the `namespace` label of its series. */
export interface ServiceConfig extends Omit<ServiceEntry, 'name' | 'api'> {
  readonly name: string;
  readonly api: ApiConfig;
}

type AutoKeys = Exclude<ConfigKeys['services'], readonly unknown[]>;

/** The keys of `services: auto`, and the settings that all found services share. There is at least one API. */
export interface AutoConfig extends Omit<AutoKeys, 'apis'>, Pick<ServiceConfig, 'attributes'> {
  readonly apis: readonly ApiConfig[];
}

type OtlpKeys = ConfigKeys['otlp'];
type AuthKeys = NonNullable<OtlpKeys['auth']>;

/** The keys of `otlp.auth`, and the proxy towards its token endpoint. */
export interface AuthConfig extends AuthKeys {
  readonly tokenProxy: Secret | null;
}

/** The token endpoint of `otlp.auth`; null where none is needed. */
export function tokenUrlOf({ oauth2, google }: AuthKeys): string | null {
  if (oauth2 !== null) return oauth2.tokenUrl;
  const account = google === null ? null : readServiceAccount(google.credentialsFile.reveal());
  return account === null || typeof account === 'string' ? null : account.tokenUrl;
}

/** The settings that the standard variables can set per signal. Certificates and keys are PEM texts. */
export interface OtlpSignalConfig
  extends Pick<OtlpKeys, 'protocol' | 'compression' | 'headers' | 'timeoutMs' | 'tls' | 'proxy'> {
  /** The full URL, with the signal's path; for gRPC `http://host:port` or, with TLS, `https://host:port`. */
  readonly endpoint: string;
  /** The names for hints to use instead of keys, such as the variable that sets a key. */
  readonly names?: Readonly<Record<string, string>>;
}

/** Keys of `otlp` that are resolved for each signal. */
type SignalKey =
  | 'endpoint'
  | 'metricsEndpoint'
  | 'logsEndpoint'
  | Exclude<keyof OtlpSignalConfig, 'proxy' | 'names'>
  | Signal;

export interface OtlpConfig extends Omit<OtlpKeys, SignalKey | 'auth'> {
  readonly metrics: OtlpSignalConfig;
  readonly logs: OtlpSignalConfig;
  readonly auth: AuthConfig | null;
}

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
