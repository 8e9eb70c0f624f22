// Gathers records into one request, at most 500 of them or about 1 MiB: what is committed at once together with
// the cursor. In: records of one partition. Out: a Batch of one part.

import type { Batch } from '../model/batch.ts';
import type { ResourceIdentity } from '../pipeline/encode/identity.ts';
import { type LogAttribute, type LogRecord, LogsRequest } from '../pipeline/encode/logs.ts';
import type { WireWriter } from '../pipeline/encode/wire.ts';
import { MARK, OWN_PREFIX, type ParsedRecord } from './record.ts';
import type { Partition } from './partition.ts';

export const CHUNK_RECORDS_MAX = 500;
export const CHUNK_BYTES_MAX: number = 1024 * 1024;

/** A service as its metrics name it. */
export interface LogResource {
  readonly identity: ResourceIdentity;
  readonly info: ReadonlyMap<string, string>;
}

/** The attribute that stands for each mark. */
const MARK_ATTRIBUTES: readonly (readonly [mark: number, key: string])[] = [
  [MARK.badUtf8, `${OWN_PREFIX}log.bad_utf8`],
  [MARK.lineCut, `${OWN_PREFIX}log.cut`],
  [MARK.recordCut, `${OWN_PREFIX}log.cut`],
  [MARK.unparsed, `${OWN_PREFIX}log.unparsed`],
  [MARK.continuation, `${OWN_PREFIX}log.continuation`],
  [MARK.doubtful, `${OWN_PREFIX}log.doubtful`],
];

export class Chunk {
  readonly #request: LogsRequest;
  readonly #service: string;
  readonly #observedAtMs: number;
  /** Attributes that all records of the partition share. */
  readonly #shared: readonly LogAttribute[];

  /** The writer is used until `end`: one chunk at a time per writer. */
  constructor(
    writer: WireWriter,
    partition: Partition,
    options: { readonly resource: LogResource; readonly observedAtMs: number },
  ) {
    const { identity, info } = options.resource;
    this.#request = new LogsRequest(writer, identity, info);
    this.#service = partition.service.id;
    this.#observedAtMs = options.observedAtMs;
    this.#shared = [
      ...(partition.server === '' ? [] : [['server_name', partition.server] as const]),
      ...(partition.type === '' ? [] : [[`${OWN_PREFIX}log.type`, partition.type] as const]),
    ];
  }

  get count(): number {
    return this.#request.count;
  }

  /** True when it is to be committed before anything else is added. */
  get isFull(): boolean {
    return this.count >= CHUNK_RECORDS_MAX || this.#request.bytes >= CHUNK_BYTES_MAX;
  }

  add(record: ParsedRecord, uid: string, fileName: string): void {
    const more: LogAttribute[] = [];
    if (fileName !== '') more.push(['log.file.name', fileName]);
    if (record.stream !== '') more.push(['log.iostream', record.stream]);
    more.push(['log.record.uid', uid], ...this.#shared);
    if (record.marks !== 0) more.push(...markAttributes(record.marks));
    this.#request.add(record, this.#observedAtMs, more);
  }

  /** Adds a record of our own, such as of a gap. */
  addOwn(record: LogRecord, uid: string): void {
    this.#request.add(record, this.#observedAtMs, [['log.record.uid', uid], ...this.#shared]);
  }

  /** The batch, in the writer's memory: it must have been committed before the writer is used again. */
  end(): Batch {
    const payload = this.#request.end();
    const part = {
      service: this.#service,
      points: this.count,
      offset: 0,
      length: payload.length,
    };
    return { signal: 'logs', payload, parts: [part], madeAtMs: this.#observedAtMs };
  }
}

function markAttributes(marks: number): readonly LogAttribute[] {
  const keys = MARK_ATTRIBUTES.filter(([mark]) => (marks & mark) !== 0).map(([, key]) => key);
  return [...new Set(keys)].map(key => [key, true] as const);
}
