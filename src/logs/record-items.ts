// Reads the items of a list that holds log records: each item is one record (of one line or several), with its own
// time. In: items as they are listed. Out: records with their ids; the number among equals tells those apart that
// have neither an id nor a difference.

import { follow } from '../lib/json-pointer.ts';
import { type ItemContext, type Refusal, readPartition, textAt } from './descriptor.ts';
import { type Partition, partitionKey } from './partition.ts';
import { MARK, type LineReader, type ParsedRecord } from './record.ts';
import { recordUid, uidPlace } from './uid.ts';
import { Unwrapper } from './unwrap.ts';
import { WrapperTime } from './wrapper-time.ts';

export interface ReadItem {
  readonly partition: Partition;
  readonly records: readonly { readonly uid: string; readonly record: ParsedRecord }[];
}

export interface ItemReaderOptions {
  readonly context: ItemContext;
  readonly lineBytesMax: number;
  readonly createReader: (type: string) => LineReader;
}

/** One per pass over a window: it counts equals. */
export class ItemReader {
  readonly #options: ItemReaderOptions;
  readonly #readers = new Map<string, LineReader>();
  readonly #equals = new Map<string, number>();
  readonly #time = new WrapperTime();

  constructor(options: ItemReaderOptions) {
    this.#options = options;
  }

  read(item: unknown): ReadItem | Refusal {
    const { context } = this.#options;
    const { pointers } = context;
    const partition = readPartition(item, context);
    if (typeof partition === 'string') return partition;
    const found = follow(pointers.message, item);
    const text = typeof found === 'string' ? found : undefined;
    const parsed = this.#parse(item, partition, text ?? JSON.stringify(item));
    const id = textAt(pointers.id, item);
    const { service, source, type } = partition;
    const place = uidPlace([service.id, source, type, 'record', id]);
    const marks = text === undefined ? MARK.unparsed : 0;
    const records = parsed.map(record => {
      const uid = recordUid(place, record.firstOffset, record);
      const marked = marks === 0 ? record : { ...record, marks: record.marks | marks };
      return { uid: id === '' ? this.#numbered(uid, place, record) : uid, record: marked };
    });
    return { partition, records };
  }

  #parse(item: unknown, partition: Partition, text: string): readonly ParsedRecord[] {
    const { context, lineBytesMax } = this.#options;
    const { pointers } = context;
    this.#time.read(textAt(pointers.time, item) || textAt(pointers.start, item));
    const stream = textAt(pointers.stream, item);
    const reader = this.#readerOf(partition);
    reader.restore('');
    const records: ParsedRecord[] = [];
    const unwrapper = new Unwrapper({ format: 'raw', pointers, lineBytesMax }, line => {
      if (Number.isNaN(line.timeMs)) {
        line.timeMs = this.#time.ms;
        line.timeExtraNs = this.#time.extraNs;
      }
      if (line.stream === '') line.stream = stream;
      records.push(...reader.push(line));
    });
    unwrapper.push(text.replace(/\r?\n$/, ''), 0, 0);
    unwrapper.flush();
    records.push(...reader.flush());
    return records;
  }

  /** The second of two equal records gets an id of its own, in the order of the list. */
  #numbered(uid: string, place: string, record: ParsedRecord): string {
    const number = this.#equals.get(uid) ?? 0;
    this.#equals.set(uid, number + 1);
    return number === 0 ? uid : recordUid(place, `${record.firstOffset}#${number}`, record);
  }

  #readerOf(partition: Partition): LineReader {
    const key = partitionKey(partition);
    const known = this.#readers.get(key) ?? this.#options.createReader(partition.type);
    this.#readers.set(key, known);
    return known;
  }
}
