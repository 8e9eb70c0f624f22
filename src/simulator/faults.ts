// The faults of the simulated service, by the endpoint that has them, and /_control, which sets them at run time. The
// simulator answers /_control on its own server, to loopback clients only: GET shows the services, the faults and the
// requests so far; POST sets faults and restarts servers. Keys are never shown.
//
//   {"reset": true, "faults": {"status": 503, "times": 2}, "restart": ["orders-0"]}

import { z } from 'zod';

export const METRICS_PATH = '/observability/v2/metrics';

export interface Faults {
  // Faults of any answer: only for requests whose path begins with `path`, and with this `method` if there is one.
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | null;
  /** How many more requests have the faults; null: all until the faults change. */
  readonly times: number | null;
  /** Answer with this status and an error body, and with this Retry-After header. */
  readonly status: number | null;
  readonly retryAfter: string | null;
  /** Redirect there; `same-origin` leads to an address of the simulator that answers normally. */
  readonly redirectTo: string | null;
  /** Take the request and never answer. */
  readonly isSilent: boolean;
  readonly body: 'normal' | 'html' | 'empty' | 'gzip-bomb';
  readonly contentType: string | null;
  /** Stop in the middle: short of the announced length, or within a chunked body. */
  readonly cut: 'none' | 'length' | 'chunked';
  readonly bytesPerSecond: number | null;
  /** How far the service's clock, Date header and samples alike, is ahead of the simulator's. */
  readonly clockSkewMs: number;

  // Faults of the metrics page.
  /** How many broken lines precede the first sample of each service id. */
  readonly badLines: Readonly<Record<string, number>>;
  readonly absentServices: readonly string[];

  // Faults of the log API.
  /** By archive id; `*` means every archive that has no entry. A number is the status of its download. */
  readonly archives: Readonly<Record<string, ArchiveFault>>;
  readonly archiveForm: 'zip' | 'gzip' | 'plain';
  /** Whether lines have the prefix of a container runtime, which splits long lines. */
  readonly hasLinePrefix: boolean;
  /** The list has no sizes; its count changes from page to page. */
  readonly isSizeHidden: boolean;
  readonly isCountUnsteady: boolean;
  /** A list that begins before `oldestMs` is refused; one whose range contains `poisonMs` repeats its page for ever. */
  readonly oldestMs: number | null;
  readonly poisonMs: number | null;
  /** The status of a list whose range contains `poisonMs`; null repeats its page. */
  readonly poisonStatus: number | null;
  /** By type of log: the status of its lists. */
  readonly listStatuses: Readonly<Record<string, number>>;
  readonly ignoredParameters: readonly string[];

  // Backups and the agent: other behaviour where the specification leaves a choice.
  /** Whether lists of backups come wrapped and in pages, or bare. */
  readonly listShape: 'wrapped' | 'bare';
  readonly isServiceIdRequired: boolean;
  readonly createdBody: 'object' | 'empty' | 'text';
  /** The shape of a chat's answer; `nested` carries the failure of the agent, if there is one. */
  readonly chatShape: 'plain' | 'nested';
  readonly chatError: string | null;
  /** The key of `config` whose filters count; the specification spells it in both ways. */
  readonly filterKey: 'table_filters' | 'table_filter';
  /** A path of the agent without a trailing slash is redirected to the one with it. */
  readonly isSlashRequired: boolean;
}

const ARCHIVE_FAULTS = [
  'cut',
  'checksum',
  'encrypted',
  'nested',
  'bomb',
  'html',
  'missing',
  'lacking',
] as const;
export type ArchiveFault = (typeof ARCHIVE_FAULTS)[number] | number;

const HEADER = z
  .string()
  .max(200)
  .regex(/^[\t -~]*$/u);
const FAILURE = z.int().min(400).max(599);
const COUNT = z.int().min(1).max(1_000_000_000);
const NAMES = z.array(z.string()).max(10_000);
const METHODS = z.enum(['GET', 'POST', 'PATCH', 'DELETE']);

/** For each fault: its value when nothing is wrong, and the schema of the values that /_control may set. */
const FAULTS: {
  readonly [Name in keyof Faults]: readonly [none: Faults[Name], schema: z.ZodType<Faults[Name]>];
} = {
  path: [METRICS_PATH, z.string().startsWith('/')],
  method: [null, METHODS.nullable()],
  times: [null, COUNT.nullable()],
  status: [null, z.int().min(200).max(599).nullable()],
  retryAfter: [null, HEADER.nullable()],
  redirectTo: [null, z.union([z.literal('same-origin'), z.url()]).nullable()],
  isSilent: [false, z.boolean()],
  body: ['normal', z.enum(['normal', 'html', 'empty', 'gzip-bomb'])],
  contentType: [null, HEADER.nullable()],
  cut: ['none', z.enum(['none', 'length', 'chunked'])],
  bytesPerSecond: [null, COUNT.nullable()],
  clockSkewMs: [0, z.number().min(-1e12).max(1e12)],
  badLines: [{}, z.record(z.string(), z.int().min(0).max(100_000))],
  absentServices: [[], NAMES],
  archives: [{}, z.record(z.string(), z.union([z.enum(ARCHIVE_FAULTS), FAILURE]))],
  archiveForm: ['zip', z.enum(['zip', 'gzip', 'plain'])],
  hasLinePrefix: [false, z.boolean()],
  isSizeHidden: [false, z.boolean()],
  isCountUnsteady: [false, z.boolean()],
  oldestMs: [null, z.number().nullable()],
  poisonMs: [null, z.number().nullable()],
  poisonStatus: [null, FAILURE.nullable()],
  listStatuses: [{}, z.record(z.string(), FAILURE)],
  ignoredParameters: [[], NAMES],
  listShape: ['wrapped', z.enum(['wrapped', 'bare'])],
  isServiceIdRequired: [false, z.boolean()],
  createdBody: ['object', z.enum(['object', 'empty', 'text'])],
  chatShape: ['plain', z.enum(['plain', 'nested'])],
  chatError: [null, z.string().max(1_000).nullable()],
  filterKey: ['table_filters', z.enum(['table_filters', 'table_filter'])],
  isSlashRequired: [false, z.boolean()],
};

function each<Value>(pick: (fault: readonly [unknown, z.ZodType]) => Value): Record<string, Value> {
  return Object.fromEntries(Object.entries(FAULTS).map(([name, fault]) => [name, pick(fault)]));
}

export const NO_FAULTS: Faults = each(([none]) => none) as unknown as Faults;

/** The faults that a request to /_control may set. */
export const FAULTS_SCHEMA: z.ZodType<Partial<Faults>> = z
  .strictObject(each(([, schema]) => schema))
  .partial();
