// The package's exports: the typed client of the service. docs/client.md describes it.

export { systemClock, type Clock } from './lib/clock.ts';
export {
  CHAT_TIMEOUT_MS,
  type AgentApi,
  type ChatAnswer,
  type ChatConfig,
  type ChatOptions,
  type ChatRequest,
  type Session,
  type SessionRequest,
} from './service/agent-api.ts';
export type { ReadOptions } from './service/http-client.ts';
export type { Backup, BackupQuery, BackupsApi } from './service/backups-api.ts';
export { ServiceClient, type ServiceClientOptions, type ServicePaths } from './service/client.ts';
export { encodeCredentials, type Encoded, type Storage } from './service/credentials-file.ts';
export type {
  ArchiveOptions,
  LogItem,
  LogQuery,
  LogsApi,
  RetentionRequest,
} from './service/logs-api.ts';
export type { MetricsApi, MetricsPage, MetricsQuery } from './service/client.ts';
export type { SecretSource, ServiceAddress } from './service/client.ts';
export {
  RESTORE_METHODS,
  restoreOnce,
  restoreProblems,
  type Begun,
  type Restore,
  type RestoreOnceOptions,
  type RestoreMethod,
  type RestoreQuery,
  type RestoreRequest,
  type RestoresApi,
} from './service/restores-api.ts';
export {
  scheduleProblems,
  scheduleWarnings,
  type Schedule,
  type ScheduleQuery,
  type ScheduleRequest,
  type SchedulesApi,
} from './service/backups-api.ts';
export {
  errorLine,
  type BadRequestError,
  type CallError,
  type ErrorResult,
  type RequestProblem,
  type Result,
  type ServiceError,
} from './service/service-error.ts';
