// A row that the sender is busy with: its delivery, and where it stands between two attempts.

import { compress, decompress } from '../queue/compression.ts';
import type { QueueRow, RowRest } from '../queue/queue.ts';
import { Delivery, pieceBytes } from './delivery.ts';
import type { SendRequest } from './transport.ts';

export interface Job {
  readonly delivery: Delivery;
  state: 'sending' | 'retrying' | 'holding';
  /** Attempts in a row that decided nothing. */
  failureCount: number;
  /** The last attempt was made of a back end that had just taken an empty request. */
  isSure: boolean;
  /** A later row was accepted while this one was held: its content is at fault, not our settings. */
  isOdd: boolean;
  /** Later rows that were tried for comparison and refused, too. */
  readonly comparedIds: Set<number>;
  /** Wall clock; null while no pause is under way. */
  nextAttemptAtMs: number | null;
  /** Ends the current pause. */
  wake: AbortController;
}

export function newJob(row: QueueRow): Job {
  return {
    delivery: new Delivery(row),
    state: 'sending',
    failureCount: 0,
    isSure: false,
    isOdd: false,
    comparedIds: new Set(),
    nextAttemptAtMs: null,
    wake: new AbortController(),
  };
}

/** Ends the pause of a job, if there is one; its next attempt follows at once. */
export function wakeJob(job: Job): void {
  job.state = 'sending';
  job.wake.abort();
}

/** What the next attempt sends: the row as it is stored, or a piece of it. */
export async function nextRequest({ delivery }: Job): Promise<SendRequest> {
  const { signal, encoding, body, rawBytes } = delivery.row;
  const piece = delivery.next();
  if (!delivery.isSplit || piece === undefined) return { signal, encoding, body, rawBytes };
  const bytes = pieceBytes(piece);
  return { signal, encoding, body: await compress(encoding, bytes), rawBytes: bytes.length };
}

/** Records a refusal for good, for which a row that is still whole is unpacked. */
export async function refuseNext({ delivery }: Job, reason: string, atMs: number): Promise<void> {
  const raw = delivery.isSplit ? null : await unpack(delivery.row);
  delivery.refuse(reason, atMs, raw);
}

/** What is left of a row that was settled in part, as a row. */
export async function restOf({ delivery }: Job): Promise<RowRest> {
  const { encoding } = delivery.row;
  const slices = delivery.rest();
  let rawBytes = 0;
  const parts = slices.map(({ service, points, bytes: { length } }) => {
    const part = { service, points, offset: rawBytes, length };
    rawBytes += length;
    return part;
  });
  const body = await compress(encoding, Buffer.concat(slices.map(slice => slice.bytes)));
  return { encoding, body, rawBytes, parts };
}

async function unpack(row: QueueRow): Promise<Buffer | null> {
  try {
    return await decompress(row.encoding, row.body, row.rawBytes);
  } catch {
    return null;
  }
}
