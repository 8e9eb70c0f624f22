// Batches of several targets put together to one: their bytes back to back, their parts with them. In: batches whose
// memory may change once they were added. Out: at most one plain batch and one packed one, in memory that is lent. Fresh
// large buffers would cost more in garbage collections than all the rest of the way.

import type { BodyBuffer, BodyBufferPool } from '../../lib/body-buffer.ts';
import type { Batch, BatchPart, PackedBatch, PackedPart } from '../../model.ts';

/** Begins empty; what is taken must be given back with release(). */
export class GatheredBatches {
  readonly #buffers: BodyBufferPool;
  #plain: BodyBuffer | null = null;
  #packed: BodyBuffer | null = null;
  #parts: BatchPart[] = [];
  #packedParts: PackedPart[] = [];
  #length = 0;
  #packedLength = 0;
  #madeAtMs = 0;

  constructor(buffers: BodyBufferPool) {
    this.#buffers = buffers;
  }

  /** Bytes that are held. */
  get bytes(): number {
    return (this.#plain?.usedBytes ?? 0) + (this.#packed?.usedBytes ?? 0);
  }

  add(batch: Batch | PackedBatch): void {
    this.#madeAtMs = batch.madeAtMs;
    if ('packed' in batch) this.#addPacked(batch);
    else this.#addPlain(batch);
  }

  /** Valid until release(); batches without a part are left out. */
  batches(): readonly (Batch | PackedBatch)[] {
    const madeAtMs = this.#madeAtMs;
    const batches: (Batch | PackedBatch)[] = [];
    if (this.#plain !== null && this.#parts.length > 0)
      batches.push({ signal: 'metrics', payload: this.#plain.bytes, parts: this.#parts, madeAtMs });
    if (this.#packed !== null && this.#packedParts.length > 0) {
      const { bytes: packed } = this.#packed;
      batches.push({ signal: 'metrics', packed, parts: this.#packedParts, madeAtMs });
    }
    return batches;
  }

  release(): void {
    for (const buffer of [this.#plain, this.#packed]) {
      if (buffer === null) continue;
      buffer.clear();
      this.#buffers.give(buffer);
    }
    this.#plain = null;
    this.#packed = null;
  }

  #addPlain({ payload, parts }: Batch): void {
    this.#plain ??= this.#buffers.take();
    for (const part of parts) this.#parts.push({ ...part, offset: part.offset + this.#length });
    this.#plain.append(payload);
    this.#length += payload.length;
  }

  #addPacked({ packed, parts }: PackedBatch): void {
    this.#packed ??= this.#buffers.take();
    const before = this.#packed.usedBytes;
    for (const part of parts) {
      const offset = this.#packedLength;
      const [start, end] = [part.start + before, part.end + before];
      this.#packedParts.push({ ...part, offset, start, end });
      this.#packedLength += part.length;
    }
    this.#packed.append(packed);
  }
}
