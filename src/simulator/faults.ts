// The ways in which the simulated service can be made to misbehave, as one flat record that is set in parts at
// run time, by a method or as JSON through /_control. Transport faults hit every request below `path`; faults
// of the page concern the metrics page alone.

import { z } from 'zod';

export interface Faults {
  /** Requests whose path begins like this suffer the transport faults. */
  readonly path: string;
  /** And of these only those with this method; null: all. */
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | null;
  /** How many more requests suffer; null: until they are set otherwise. */
  readonly times: number | null;
  /** Answer with this status and an error body. */
  readonly status: number | null;
  /** The Retry-After header of that answer: seconds or a date, sent as it is. */
  readonly retryAfter: string | null;
  /** Redirect there; `same-origin` leads to an address of the simulator that answers normally. */
  readonly redirectTo: string | null;
  /** Take the request and never answer. */
  readonly isSilent: boolean;
  readonly body: 'normal' | 'html' | 'empty' | 'gzip-bomb';
  readonly contentType: string | null;
  readonly contentEncoding: 'identity' | 'gzip' | 'deflate' | 'zstd';
  /** Stop in the middle: short of the announced length, or within a chunked body. */
  readonly cut: 'none' | 'length' | 'chunked';
  /** Send the body this slowly. */
  readonly bytesPerSecond: number | null;

  /** Page: how many broken lines stand before the first sample of each service id. */
  readonly badLines: Readonly<Record<string, number>>;
  readonly isLastNewlineMissing: boolean;
  /** Page: ids of services that are not in it. */
  readonly absentServices: readonly string[];
  /** Page: frozen means that the store stands still, values and times, from when this was set. */
  readonly timestamps: 'explicit' | 'frozen' | 'none';
  /** How far the service's clock, Date header and samples alike, is ahead of the simulator's. */
  readonly clockSkewMs: number;

  /** Logs: what is wrong with archives, by id; `*` stands for every archive that is not named. */
  readonly archives: Readonly<Record<string, SimulatedArchiveFault>>;
  readonly archiveForm: 'zip' | 'gzip' | 'plain';
  /** Logs: whether lines carry the prefix of a container runtime, long ones in parts. */
  readonly hasLinePrefix: boolean;
  /** Logs: the list says nothing about sizes, or has another count on every page. */
  readonly isSizeHidden: boolean;
  readonly isCountUnsteady: boolean;
  /** Logs: a list from before this moment is refused; one over that moment repeats its page without end. */
  readonly oldestMs: number | null;
  readonly poisonMs: number | null;
  /** Logs: query parameters that are ignored. */
  readonly ignoredParameters: readonly string[];

  /** Backups: whether lists come wrapped and in pages, or bare. */
  readonly listShape: 'wrapped' | 'bare';
  /** Backups: the list of schedules wants a service_id. */
  readonly isServiceIdRequired: boolean;
  /** Backups: what a POST is answered with. */
  readonly createdBody: 'object' | 'empty' | 'text';
  /** Backups: a schedule cannot be deleted now (409). */
  readonly isScheduleBusy: boolean;
  /** Backups: there is no list of backups (404). */
  readonly isBackupsUnknown: boolean;
  /** Backups: what a restore calls the path of the backup, and whether restores fail. */
  readonly restoreKey: 'key' | 'id';
  readonly isRestoreFailing: boolean;

  /** Agent: the shape of a chat's answer; `nested` carries the failure of the agent, if there is one. */
  readonly chatShape: 'plain' | 'nested';
  readonly chatError: string | null;
  /** Agent: under which key of `config` filters are heeded; the specification spells it in both ways. */
  readonly filterKey: 'table_filters' | 'table_filter';
  /** Agent: a path without a trailing slash is redirected to the one with it. */
  readonly isSlashRequired: boolean;
}

export const METRICS_PATH = '/observability/v2/metrics';

export const NO_FAULTS: Faults = {
  path: METRICS_PATH,
  method: null,
  times: null,
  status: null,
  retryAfter: null,
  redirectTo: null,
  isSilent: false,
  body: 'normal',
  contentType: null,
  contentEncoding: 'identity',
  cut: 'none',
  bytesPerSecond: null,
  badLines: {},
  isLastNewlineMissing: false,
  absentServices: [],
  timestamps: 'explicit',
  clockSkewMs: 0,
  archives: {},
  archiveForm: 'zip',
  hasLinePrefix: false,
  isSizeHidden: false,
  isCountUnsteady: false,
  oldestMs: null,
  poisonMs: null,
  ignoredParameters: [],
  listShape: 'wrapped',
  isServiceIdRequired: false,
  createdBody: 'object',
  isScheduleBusy: false,
  isBackupsUnknown: false,
  restoreKey: 'key',
  isRestoreFailing: false,
  chatShape: 'plain',
  chatError: null,
  filterKey: 'table_filters',
  isSlashRequired: false,
};

/** What is wrong with an archive that is served. */
const ARCHIVE_FAULTS = [
  'cut',
  'checksum',
  'encrypted',
  'nested',
  'bomb',
  'html',
  'missing',
] as const;
export type SimulatedArchiveFault = (typeof ARCHIVE_FAULTS)[number];

/** What may stand in a header. */
const HEADER = z
  .string()
  .max(200)
  .regex(/^[\t -~]*$/u);
const COUNT = z.int().min(1).max(1_000_000_000);

const SCHEMA = z
  .strictObject({
    path: z.string().startsWith('/'),
    method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']).nullable(),
    times: COUNT.nullable(),
    status: z.int().min(200).max(599).nullable(),
    retryAfter: HEADER.nullable(),
    redirectTo: z.union([z.literal('same-origin'), z.url()]).nullable(),
    isSilent: z.boolean(),
    body: z.enum(['normal', 'html', 'empty', 'gzip-bomb']),
    contentType: HEADER.nullable(),
    contentEncoding: z.enum(['identity', 'gzip', 'deflate', 'zstd']),
    cut: z.enum(['none', 'length', 'chunked']),
    bytesPerSecond: COUNT.nullable(),
    badLines: z.record(z.string(), z.int().min(0).max(100_000)),
    isLastNewlineMissing: z.boolean(),
    absentServices: z.array(z.string()).max(10_000),
    timestamps: z.enum(['explicit', 'frozen', 'none']),
    clockSkewMs: z.number().min(-1e12).max(1e12),
    archives: z.record(z.string(), z.enum(ARCHIVE_FAULTS)),
    archiveForm: z.enum(['zip', 'gzip', 'plain']),
    hasLinePrefix: z.boolean(),
    isSizeHidden: z.boolean(),
    isCountUnsteady: z.boolean(),
    oldestMs: z.number().nullable(),
    poisonMs: z.number().nullable(),
    ignoredParameters: z.array(z.string()).max(100),
    listShape: z.enum(['wrapped', 'bare']),
    isServiceIdRequired: z.boolean(),
    createdBody: z.enum(['object', 'empty', 'text']),
    isScheduleBusy: z.boolean(),
    isBackupsUnknown: z.boolean(),
    restoreKey: z.enum(['key', 'id']),
    isRestoreFailing: z.boolean(),
    chatShape: z.enum(['plain', 'nested']),
    chatError: z.string().max(1_000).nullable(),
    filterKey: z.enum(['table_filters', 'table_filter']),
    isSlashRequired: z.boolean(),
  })
  .partial();

export type ParsedFaults =
  | { readonly isGood: true; readonly faults: Partial<Faults> }
  | { readonly isGood: false; readonly problems: readonly string[] };

/** Faults from outside: unknown names and values out of range are problems, each with its name. */
export function parseFaults(input: unknown): ParsedFaults {
  const result = SCHEMA.safeParse(input);
  if (!result.success) {
    const { issues } = result.error;
    return {
      isGood: false,
      problems: issues.map(({ path, message }) => [...path, message].join(': ')),
    };
  }
  const set = Object.entries(result.data).filter(([, value]) => value !== undefined);
  return { isGood: true, faults: Object.fromEntries(set) };
}
