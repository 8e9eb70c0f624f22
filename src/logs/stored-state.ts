// The one form of the stored state of logs: of a service, and of the archives of a partition. In: a blob of any content.
// Out: a state in which every number is possible, or null. All of it is plain data, stored as JSON.

import { crc32 } from 'node:zlib';
import * as z from 'zod';
import { DAY_MS } from '../lib/clock.ts';
import { parseJson } from '../lib/json.ts';
import type { StateKind } from '../pipeline/queue/commit.ts';
import type { Span } from './cursor.ts';

/** How far an entry has been read. */
export interface EntryProgress {
  readonly bytes: number;
  readonly lines: number;
  /** SHA-256 of the first `bytes`, in hex. */
  readonly hash: string;
  /** True when an incomplete line followed. */
  readonly hasTail: boolean;
  /** LineReader.save(), and its CRC-32: only the reader knows its form. Earlier versions did not store the sum. */
  readonly reader: string;
  readonly readerSum?: number | undefined;
  /** Up to which byte the digests have counted it with earlier content. */
  readonly countedBytes?: number | undefined;
}

export interface ArchiveState {
  readonly dayMs: number;
  /** Descriptor.endMs. Earlier versions did not store it. */
  readonly endMs?: number | undefined;
  /** True once it had a line without a time from the service. */
  readonly isUntimed?: boolean | undefined;
  /** The size in the last list; null when the list has no sizes. */
  readonly listedSize: number | null;
  /** True once it was read to its end; `readSize` is the listed size then, `readBytes` its unpacked size. */
  readonly isRead: boolean;
  readonly readSize: number | null;
  readonly readBytes: number;
  /** When its last read to the end began. */
  readonly readFromMs?: number | undefined;
  /** How often in a row it was listed (or read, without a size) without having grown. */
  readonly quietCount: number;
  /** True once its open records were sent. */
  readonly isFlushed: boolean;
  /** The number of tries that found it broken since it was last whole. */
  readonly tryCount: number;
  readonly nextTryMs: number;
  /** The listed size for which it was given up; null if it was not. */
  readonly givenUp: { readonly size: number | null } | null;
  /** While it is no longer listed: the time of which logs may be lost by that. */
  readonly absent: Span | null;
  /** By entry name. */
  readonly entries: Readonly<Record<string, EntryProgress>>;
}

export interface ServiceState {
  readonly floorMs: number;
  /** The oldest day that is not closed. */
  readonly openDayMs: number;
  /** By type ('' for all types): the time up to which it was listed. */
  readonly listed: Readonly<Record<string, number>>;
  /** By type: since when it could not be listed although others could. */
  readonly unlistedMs: Readonly<Record<string, number>>;
  /**
   * The longest time seen from the end of the day (UTC) on which an archive begins to the end of the archive; null before
   * the first.
   */
  readonly lateMs: number | null;
  readonly partitions: readonly {
    readonly source: string;
    readonly server: string;
    readonly type: string;
  }[];
}

interface ArchivesState {
  /** By id. */
  readonly archives: Readonly<Record<string, ArchiveState>>;
}

/** Increased when an older version cannot read the stored state: it then begins anew, as without one. */
export const STATE_VERSION = 2;

/** What version 1 lacks has a default here. */
const version = z.literal([1, STATE_VERSION]);
const count = z.int().min(0);
/** Later times are no dates. */
const time = z.number().min(0).max(8.64e15);
const day = time.refine(timeMs => timeMs % DAY_MS === 0);
const size = z.number().min(0).nullable();

const ARCHIVE = z.object({
  dayMs: day,
  endMs: time.optional(),
  isUntimed: z.boolean().optional(),
  listedSize: size,
  isRead: z.boolean(),
  readSize: size,
  readBytes: count,
  readFromMs: time.optional(),
  quietCount: count,
  isFlushed: z.boolean(),
  tryCount: count,
  nextTryMs: time,
  givenUp: z.object({ size }).nullable().default(null),
  absent: z.object({ fromMs: time, toMs: time }).nullable().default(null),
  entries: z.record(
    z.string(),
    z
      .object({
        bytes: count,
        lines: count,
        hash: z.string(),
        hasTail: z.boolean(),
        reader: z.string(),
        readerSum: count.optional(),
        countedBytes: count.optional(),
      })
      .refine(({ reader, readerSum }) => readerSum === undefined || crc32(reader) === readerSum),
  ),
});

const SERVICE: z.ZodType<ServiceState> = z.object({
  version,
  floorMs: time,
  openDayMs: day,
  listed: z.record(z.string(), time).default({}),
  unlistedMs: z.record(z.string(), time).default({}),
  lateMs: time.nullable().default(null),
  partitions: z.array(z.object({ source: z.string(), server: z.string(), type: z.string() })),
});

const ARCHIVES: z.ZodType<ArchivesState> = z.object({
  version,
  archives: z.record(z.string(), ARCHIVE),
});

/** What of an entry's progress its reader saves. */
export function savedReader(reader: string): Pick<EntryProgress, 'reader' | 'readerSum'> {
  return { reader, readerSum: crc32(reader) };
}

export const STATE_KIND = 'logs';

export const SERVICE_STATE: StateKind<ServiceState> = {
  kind: STATE_KIND,
  lost: 'the position in the logs of a service is lost: they are read anew from logs.first_start on',
  read: blob => SERVICE.safeParse(parseJson(blob.toString())).data ?? null,
};

export const ARCHIVES_STATE: StateKind<ArchivesState> = {
  kind: STATE_KIND,
  lost: 'the state of open log archives is lost: they are read again, and records may arrive twice',
  read: blob => ARCHIVES.safeParse(parseJson(blob.toString())).data ?? null,
};

export function stateBlob(state: ServiceState | ArchivesState): Buffer {
  return Buffer.from(JSON.stringify({ version: STATE_VERSION, ...state }));
}
