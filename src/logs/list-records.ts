// A pull of lists that contain the records themselves: window after window, from the low watermark to the time from
// which lines may still arrive. Records that were sent before are recognised by their ids. The low watermark moves only
// after all records of a window are committed.

import { follow } from '../lib/json.ts';
import { CHUNK_BYTES_MAX, CHUNK_RECORDS_MAX } from './chunk.ts';
import { afterFailure, afterWindow, type Cursor, nextWindow, type Span } from './cursor.ts';
import { type Gap, trackGap } from './gap.ts';
import { type ItemContext, type Partition, partitionKey, readPartition, textAt } from './item.ts';
import type { Track } from './ledger.ts';
import type { ServiceError } from '../service/service-error.ts';
import { failedList, isOfWindow, isRefused, type ListEnd } from './list.ts';
import {
  commit,
  DONE,
  goOnUnlessStopped,
  type Pull,
  type PullEnd,
  Slicer,
  unreachable,
} from './pull.ts';
import { type LineReader, MARK, type ParsedRecord, recordUid, uidPlace } from './record.ts';
import { findOldestDay, jumpToOldest } from './retention.ts';
import { Unwrapper, withoutLineEnd } from './unwrap.ts';
import { type Instant, readInstant } from './formats/time.ts';

const WINDOW_RECORDS_MAX = 200_000;
/** The most partitions that are shown before their first record. */
const SHOWN_PARTITIONS_MAX = 1000;

interface Found {
  readonly partition: Partition;
  readonly uid: string;
  readonly record: ParsedRecord;
  /** The time in the item; NaN if it has none. The time in the line may be wrong, and SQL may have set it. */
  readonly timeMs: number;
}

function keyOf({ partition, uid }: Found): string {
  return `${partition.service.id} ${uid}`;
}

/**
 * The time that decides when an id may be forgotten: the item's time, limited to the window in which the service listed
 * it. The id of a record with a wrong zone would otherwise be forgotten too early, or never.
 */
function timeIn({ fromMs, toMs }: Span, timeMs: number): number {
  return Number.isNaN(timeMs) ? toMs : Math.min(Math.max(timeMs, fromMs), toMs);
}

/** Pulls one type after the other, each for all services together. */
export async function pullRecords(pull: Pull): Promise<PullEnd> {
  let worst: PullEnd = DONE;
  const failedTypes: string[] = [];
  const scopes = Map.groupBy(pull.ledger.tracks, ({ type }) => type);
  for (const [type, tracks] of scopes) {
    const end = await new TypePull(pull, type, tracks).run();
    if (end.kind !== 'unreachable') continue;
    // One type that cannot be listed does not block the others.
    failedTypes.push(type);
    worst = unreachable(end.failure, failedTypes);
  }
  const isListed = (type: string): boolean =>
    !failedTypes.includes(type) && !failedTypes.includes('');
  pull.meter.reached(pull.api.items.services, isListed);
  return worst;
}

class TypePull {
  readonly #pull: Pull;
  /** '' means all types. */
  readonly #type: string;
  readonly #tracks: ReadonlyMap<string, Track>;

  constructor(pull: Pull, type: string, tracks: readonly Track[]) {
    this.#pull = pull;
    this.#type = type;
    this.#tracks = new Map(tracks.map(track => [track.service.id, track]));
  }

  async run(): Promise<PullEnd> {
    const { api, config, meter } = this.#pull;
    // Logs written during the pull are left to the next pull. Otherwise this one might never end.
    const beganMs = api.nowMs();
    for (;;) {
      goOnUnlessStopped(api);
      const cursor = this.#slowest();
      const window = nextWindow(cursor, beganMs, config.window);
      if (window === null) return DONE;
      meter.counters.window.set((window.toMs - cursor.lowMs) / 1000, this.#type);
      let end = await this.#read(window);
      if (end.ok && !end.isStable) end = await this.#read(window);
      if (!end.ok) {
        const next = await this.#afterFailure(window, end.error);
        if (next !== null) return next;
        continue;
      }
      api.noteTime(end.serverNowMs);
      // Records after the service's current time may still come.
      const toMs = Math.min(window.toMs, api.nowMs() - config.window.settleDelayMs);
      if (toMs <= cursor.lowMs) return DONE;
      await this.#advance({ fromMs: window.fromMs, toMs });
    }
  }

  /** The cursor of the slowest service: all of them are listed together. */
  #slowest(): Cursor {
    const cursors = [...this.#tracks.values()].map(({ cursor }) => cursor);
    return {
      lowMs: Math.min(...cursors.map(({ lowMs }) => lowMs)),
      floorMs: Math.min(...cursors.map(({ floorMs }) => floorMs)),
      sizeMs: Math.min(...cursors.map(({ sizeMs }) => sizeMs)),
      failureCount: Math.max(...cursors.map(({ failureCount }) => failureCount)),
      listedMs: null,
    };
  }

  /** Commits the new records of a window. */
  async #read(window: Span): Promise<ListEnd> {
    const { api, meter } = this.#pull;
    const items = new ItemReader(this.#pull, this.#type);
    const slicer = new Slicer(api.clock);
    // By service and id: an item may come again on the next page, when the list has moved.
    const waiting = new Map<string, Found>();
    let bytes = 0;
    let total = 0;
    const end = await api.list(window, this.#type, async page => {
      for (const item of page) {
        const found = items.read(item);
        if (typeof found === 'string') {
          meter.counters.refused.add(1, found);
          continue;
        }
        for (const one of found) {
          if (!this.#isNew(one, waiting, window)) continue;
          waiting.set(keyOf(one), one);
          bytes += one.record.raw.length;
        }
        if (waiting.size < CHUNK_RECORDS_MAX && bytes < CHUNK_BYTES_MAX) continue;
        await this.#commit(waiting, window);
        waiting.clear();
        bytes = 0;
        if (slicer.isOver) await slicer.pause();
      }
      total += page.length;
      if (total <= WINDOW_RECORDS_MAX) return null;
      const message = `cannot list logs: more than ${WINDOW_RECORDS_MAX} records in a window`;
      return failedList('page_limit', message);
    });
    await this.#commit(waiting, window);
    return end;
  }

  #isNew(found: Found, waiting: ReadonlyMap<string, Found>, window: Span): boolean {
    const { config, meter } = this.#pull;
    const { partition, uid, record, timeMs } = found;
    const track = this.#tracks.get(partition.service.id);
    if (track === undefined) return false;
    const { floorMs, lowMs } = track.cursor;
    if (timeMs < floorMs) {
      meter.records(partition, 'before_start', 1);
      return false;
    }
    // If the window begins earlier because of a slower service, older records were sent, and their ids are forgotten.
    // Records without a time from the service are sent again: the time in a line may be of another zone.
    const keptFromMs = lowMs - config.window.overlapMs;
    const isOld = window.fromMs < keptFromMs && timeMs < keptFromMs;
    if (isOld || track.sent.has(uid) || waiting.has(keyOf(found))) {
      meter.records(partition, 'known', 1);
      return false;
    }
    if (record.marks !== 0) meter.marks(partition, record.marks);
    return true;
  }

  /** Commits records, as one batch per partition, and their ids, in one step. */
  async #commit(found: ReadonlyMap<string, Found>, window: Span): Promise<void> {
    if (found.size === 0) return;
    const records = [...found.values()];
    const { ledger, meter, sink } = this.#pull;
    const groups = Map.groupBy(records, ({ partition }) => partitionKey(partition));
    const batches = [...groups.values()].map(group => {
      const chunk = sink.chunk((group[0] as Found).partition);
      for (const { uid, record } of group) chunk.add(record, uid, '');
      return chunk.endInCopy();
    });
    for (const [serviceId, track] of this.#tracks) {
      const own = records.filter(({ partition }) => partition.service.id === serviceId);
      const sent = own.map(({ uid, timeMs }) => ({ uid, timeMs: timeIn(window, timeMs) }));
      if (sent.length > 0) ledger.addSent(track, sent);
    }
    await commit(this.#pull, { batches });
    for (const { partition } of records) meter.records(partition, 'queued', 1);
  }

  async #advance(window: Span): Promise<void> {
    const { config, ledger } = this.#pull;
    for (const track of this.#tracks.values()) {
      ledger.move(track, { cursor: afterWindow(track.cursor, window, config.window) });
      ledger.forgetSent(track, track.cursor.lowMs - config.window.overlapMs);
    }
    await commit(this.#pull, {});
    for (const track of this.#tracks.values()) this.#noteDone(track);
  }

  #noteDone({ service, cursor }: Track): void {
    const { meter } = this.#pull;
    const type = this.#type;
    const own = meter.partitions.filter(
      status => status.service === service.id && (type === '' || status.type === type),
    );
    for (const status of own) status.doneUntilMs = cursor.lowMs;
    // Before its first record a type has no source; this shows its lag.
    if (own.length === 0 && meter.partitions.length < SHOWN_PARTITIONS_MAX)
      meter.status({ service, source: '', server: '', type }).doneUntilMs = cursor.lowMs;
  }

  /** Halves the window, skips it, or jumps to the beginning of the logs; null when the pull continues at once. */
  async #afterFailure(window: Span, failure: ServiceError): Promise<PullEnd | null> {
    const { api, config, ledger } = this.#pull;
    goOnUnlessStopped(api);
    const type = this.#type;
    const tracks = [...this.#tracks.values()].filter(({ cursor }) => cursor.lowMs < window.toMs);
    const isLeast = window.toMs - this.#slowest().lowMs <= config.window.minMs;
    // For a longer window, its length may be the cause of a refusal.
    if (isRefused(failure) && isLeast) {
      const { fromMs } = window;
      const oldestMs = await findOldestDay(api, type, fromMs);
      const hasJumped = await jumpToOldest(this.#pull, tracks, { type, fromMs, oldestMs });
      return hasJumped ? null : unreachable(failure);
    }
    // A long window may be too much for the service. The shortest one waits: older data may be back in an hour.
    const mayBeTooLong = failure.kind === 'server' && !isLeast;
    if (!isRefused(failure) && !isOfWindow(failure) && !mayBeTooLong) return unreachable(failure);
    if ((isLeast || mayBeTooLong) && !(await api.isAnswering(type))) return unreachable(failure);
    const gaps: Gap[] = [];
    for (const track of tracks) {
      const { cursor, gap: span } = afterFailure(track.cursor, window, config.window);
      ledger.move(track, { cursor });
      if (span !== null) gaps.push(trackGap(track, span, 'window'));
    }
    await commit(this.#pull, { gaps });
    // A window of the minimum length is retried in the next pull.
    return isLeast && gaps.length === 0 ? unreachable(failure) : null;
  }
}

/**
 * Reads the items of a list of records: each is one record (of one line or several), with its own time. Equal records
 * without an id are numbered, so that their ids differ: use one ItemReader per pass over a window.
 */
class ItemReader {
  readonly #pull: Pull;
  readonly #context: ItemContext;
  readonly #readers = new Map<string, LineReader>();
  readonly #equals = new Map<string, number>();

  constructor(pull: Pull, type: string) {
    this.#pull = pull;
    this.#context = { ...pull.api.items, types: type === '' ? [] : [type] };
  }

  /** The records of an item, or the reason to ignore it. */
  read(item: unknown): readonly Found[] | Extract<ReturnType<typeof readPartition>, string> {
    const { pointers } = this.#context;
    const partition = readPartition(item, this.#context);
    if (typeof partition === 'string') return partition;
    const message = follow(pointers.message, item);
    const text = typeof message === 'string' ? message : undefined;
    const instant = readInstant(textAt(pointers.time, item) || textAt(pointers.start, item));
    const parsed = this.#parse(partition, {
      text: text ?? JSON.stringify(item),
      instant,
      stream: textAt(pointers.stream, item),
    });
    const id = textAt(pointers.id, item);
    const { service, source, type } = partition;
    const place = uidPlace([service.id, source, type, 'record', id]);
    const marks = text === undefined ? MARK.unparsed : 0;
    return parsed.map(record => {
      const uid = recordUid(place, record.firstOffset, record);
      const marked = marks === 0 ? record : { ...record, marks: record.marks | marks };
      return {
        partition,
        uid: id === '' ? this.#numbered(uid, place, record) : uid,
        record: marked,
        timeMs: instant?.timeMs ?? Number.NaN,
      };
    });
  }

  #parse(
    partition: Partition,
    item: { readonly text: string; readonly instant: Instant | null; readonly stream: string },
  ): readonly ParsedRecord[] {
    const { pointers } = this.#context;
    const { lineBytes: lineBytesMax } = this.#pull.config.limits;
    const { text, instant, stream } = item;
    const reader = this.#readerOf(partition);
    reader.restore('');
    const records: ParsedRecord[] = [];
    const unwrapper = new Unwrapper({ format: 'raw', pointers, lineBytesMax }, line => {
      if (Number.isNaN(line.timeMs)) Object.assign(line, instant);
      if (line.stream === '') line.stream = stream;
      records.push(...reader.push(line));
    });
    unwrapper.push(withoutLineEnd(text), 0, 0);
    unwrapper.flush();
    records.push(...reader.flush());
    return records;
  }

  /** The id of an equal record depends on its place in the list. */
  #numbered(uid: string, place: string, record: ParsedRecord): string {
    const number = this.#equals.get(uid) ?? 0;
    this.#equals.set(uid, number + 1);
    return number === 0 ? uid : recordUid(place, `${record.firstOffset}#${number}`, record);
  }

  #readerOf(partition: Partition): LineReader {
    const key = partitionKey(partition);
    const known = this.#readers.get(key) ?? this.#pull.readerOf(partition.type);
    this.#readers.set(key, known);
    return known;
  }
}
