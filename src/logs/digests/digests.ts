// The digests of all servers of a puller. In: the records of slow query logs that are about to be stored. Out: what their
// commit must store besides, so that a kill neither loses a statement nor counts one twice: the sums, their points, and
// one log record with the text of each digest that is new. It lives as long as the ledger: after a failed commit both are
// read again.

import * as z from 'zod';
import { parseJson } from '../../lib/json.ts';
import type { Counters, CountersOf } from '../../lib/counters.ts';
import { type Batch, batchOf } from '../../model/batch.ts';
import type { AttributeLimit } from '../../pipeline/encode/attribute-limit.ts';
import type { ServiceResource } from '../../pipeline/encode/identity.ts';
import { type LogAttribute, type LogRecord, LogsRequest } from '../../pipeline/encode/logs.ts';
import { WireWriter } from '../../pipeline/encode/wire.ts';
import type { StateChange, StateKind } from '../../pipeline/queue/commit.ts';
import type { Queue } from '../../pipeline/queue/queue.ts';
import type { ServiceConfig } from '../../config/config.ts';
import { redactSql } from '../formats/redact.ts';
import { type Partition, partitionKey } from '../item.ts';
import { MARK, OWN_PREFIX, type ParsedRecord, textUid } from '../record.ts';
import { writeDigests } from './digest-points.ts';
import {
  BOUNDS_S,
  DigestTable,
  type SavedTable,
  type Statement,
  type TableLimits,
} from './digest-table.ts';
import { type Fingerprint, fingerprintOf } from './fingerprint.ts';

const SLOW_QUERY = `${OWN_PREFIX}slow_query`;
const QUERY_TIME = `${SLOW_QUERY}.query_time_s`;
const DIGEST_EVENT = `${OWN_PREFIX}query_digest`;
const INFO = 9;
/** Fingerprints of the last texts: most statements of an application are few. */
const KNOWN_TEXTS_MAX = 4000;
const KNOWN_TEXT_LENGTH_MAX = 1024;

export const DIGEST_COUNTERS = {
  untracked: {
    name: 'prom2otlp_logs_digests_untracked_total',
    help: 'Slow queries counted as other because logs.slow_query.digests.max_tracked was reached.',
    labels: ['service'],
  },
} as const;

export interface DigestsOptions {
  readonly queue: Queue;
  readonly counters: Counters;
  readonly limits: TableLimits;
  readonly isDelta: boolean;
  /** Whether the records' statements are redacted; a digest always is. */
  readonly isRedacting: boolean;
  readonly attributeLimits: Readonly<Record<'metrics' | 'logs', AttributeLimit | null>>;
  readonly prefixOf: (service: ServiceConfig) => string;
  readonly resourceOf: (service: ServiceConfig) => ServiceResource;
}

/** What a commit stores for the digests. Its batches are valid until the next call. */
export interface DigestCommit {
  readonly batches: readonly Batch[];
  readonly state: readonly StateChange[];
}

const NOTHING: DigestCommit = { batches: [], state: [] };

export class Digests {
  readonly #options: DigestsOptions;
  readonly #counters: CountersOf<typeof DIGEST_COUNTERS>;
  readonly #tables = new Map<string, DigestTable>();
  readonly #known = new Map<string, Fingerprint>();
  readonly #metricsWriter: WireWriter;
  readonly #logsWriter: WireWriter;

  constructor(options: DigestsOptions) {
    this.#options = options;
    this.#counters = options.counters.of(DIGEST_COUNTERS);
    this.#metricsWriter = new WireWriter(undefined, options.attributeLimits.metrics);
    this.#logsWriter = new WireWriter(undefined, options.attributeLimits.logs);
  }

  /**
   * Counts the statements of one partition, and returns what must be stored in the same commit as they and the position in
   * the log; null while the queue cannot be read. `nowMs` is the end of the possible times: a client may set the time of
   * its statements.
   */
  async count(
    partition: Partition,
    records: readonly ParsedRecord[],
    nowMs: number,
  ): Promise<DigestCommit | null> {
    if (records.length === 0) return NOTHING;
    const key = partitionKey(partition);
    const table = this.#tables.get(key) ?? (await this.#load(key));
    if (table === null) return null;
    this.#tables.set(key, table);
    const fresh: [Statement, Fingerprint][] = [];
    for (const record of records) {
      const fingerprint = this.#fingerprintOf(record);
      const statement = statementOf(record, fingerprint, nowMs);
      if (table.add(statement) && fingerprint !== null) fresh.push([statement, fingerprint]);
    }
    this.#counters.untracked.add(table.untracked, partition.service.id);
    table.untracked = 0;
    const batches = [
      ...this.#pointsBatch(partition, table, nowMs),
      ...this.#textsBatch(partition, fresh, nowMs),
    ];
    const blob = Buffer.from(JSON.stringify({ version: STATE_VERSION, ...table.save() }));
    return { batches, state: [{ kind: DIGESTS.kind, key, blob }] };
  }

  async #load(key: string): Promise<DigestTable | null> {
    const saved = await this.#options.queue.restoreState(DIGESTS, key);
    return saved === undefined ? null : new DigestTable(this.#options.limits, saved);
  }

  #fingerprintOf(record: ParsedRecord): Fingerprint | null {
    if ((record.marks & MARK.doubtful) !== 0) return null;
    const sent = valueOf(record, 'db.query.text');
    if (typeof sent !== 'string') return null;
    const text = this.#options.isRedacting ? sent : redactSql(sent);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const fingerprint = fingerprintOf(text);
    if (text.length <= KNOWN_TEXT_LENGTH_MAX) {
      if (this.#known.size >= KNOWN_TEXTS_MAX) this.#known.clear();
      this.#known.set(text, fingerprint);
    }
    return fingerprint;
  }

  #pointsBatch(partition: Partition, table: DigestTable, madeAtMs: number): readonly Batch[] {
    const { isDelta, prefixOf, resourceOf } = this.#options;
    const taken = table.take(isDelta);
    if (taken === null) return [];
    const { service, server } = partition;
    const series = taken.series.filter(({ sums }) => !isDelta || sums.count > 0);
    const owner = { ...resourceOf(service), prefix: prefixOf(service), server };
    const writer = this.#metricsWriter;
    writer.reset();
    const points = writeDigests(writer, owner, { series, timeMs: taken.timeMs, isDelta });
    return [
      batchOf(service.id, points, { signal: 'metrics', payload: writer.written(), madeAtMs }),
    ];
  }

  /** One record for each digest that enters the top: its text is no label, because it is long. */
  #textsBatch(
    { service, source, server }: Partition,
    fresh: readonly (readonly [Statement, Fingerprint])[],
    madeAtMs: number,
  ): readonly Batch[] {
    if (fresh.length === 0) return [];
    const request = new LogsRequest(this.#logsWriter, this.#options.resourceOf(service));
    for (const [{ timeMs, span }, { digest, text, summary }] of fresh) {
      const record: LogRecord = {
        timeMs,
        timeExtraNs: 0,
        severityNumber: INFO,
        severityText: '',
        body: `digest ${digest}: ${text}`,
        eventName: DIGEST_EVENT,
        attributes: [
          ['digest', digest],
          ['db.query.text', text],
          ...(summary === '' ? [] : [['db.query.summary', summary] as const]),
        ],
        span: span ?? undefined,
      };
      request.add(record, madeAtMs, [
        ['log.record.uid', textUid(['digest', service.id, source, digest, String(timeMs)])],
        ...(server === '' ? [] : [['server_name', server] as const]),
      ]);
    }
    const payload = request.end();
    return [batchOf(service.id, fresh.length, { signal: 'logs', payload, madeAtMs })];
  }
}

/** Whether a record is a slow query that can be counted: a header that was cut off has no duration. */
export function isStatement(record: ParsedRecord): boolean {
  return record.eventName === SLOW_QUERY && valueOf(record, QUERY_TIME) !== undefined;
}

/** The value of an attribute; undefined if there is none. */
function valueOf({ attributes }: ParsedRecord, name: string): LogAttribute[1] | undefined {
  for (const attribute of attributes) if (attribute[0] === name) return attribute[1];
  return undefined;
}

function statementOf(
  record: ParsedRecord,
  fingerprint: Fingerprint | null,
  nowMs: number,
): Statement {
  const number = (name: string): number => {
    const value = valueOf(record, name);
    return typeof value === 'number' && value > 0 ? value : 0;
  };
  return {
    timeMs: record.timeMs <= nowMs ? record.timeMs : nowMs,
    digest: fingerprint?.digest ?? null,
    summary: fingerprint?.summary ?? '',
    micros: Math.round(number(QUERY_TIME) * 1e6),
    lockMicros: Math.round(number(`${SLOW_QUERY}.lock_time_s`) * 1e6),
    rowsExamined: number(`${SLOW_QUERY}.rows_examined`),
    rowsSent: number('db.response.returned_rows'),
    bytesSent: number(`${SLOW_QUERY}.bytes_sent`),
    span: record.span ?? null,
  };
}

// The stored form of a table, by partition.

/** Increased when an older version cannot read the stored sums. */
export const STATE_VERSION = 1;
const amount = z.number().min(0);
const buckets = z.array(amount).length(BOUNDS_S.length + 1);
const SUMS = z.object({
  startMs: amount,
  count: amount,
  micros: amount,
  lockMicros: amount,
  rowsExamined: amount,
  rowsSent: amount,
  bytesSent: amount,
  buckets,
});
const ENTRY = z.object({
  summary: z.string(),
  sums: SUMS.nullable(),
  isTop: z.boolean(),
  recent: z.array(amount),
  lastMs: amount,
});
const SAVED: z.ZodType<SavedTable> = z.object({
  version: z.literal(STATE_VERSION),
  newestMs: amount,
  sentMs: amount,
  other: SUMS.nullable(),
  entries: z.array(z.tuple([z.string(), ENTRY])),
});

export const DIGESTS: StateKind<SavedTable> = {
  kind: 'query-digests',
  lost: 'the sums of slow queries of a server are lost: they begin anew',
  read: blob => SAVED.safeParse(parseJson(blob.toString())).data ?? null,
};
