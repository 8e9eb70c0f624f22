// A growable run of bytes that is used again and again: a body is read into it, and the next body into the
// same memory. A fresh big Buffer per poll would trigger full garbage collections. What it holds stays
// bounded: memory that the last rounds did not need is given back.

const CAPACITY_BYTES_MIN = 64 * 1024;
/** After this many rounds in which less than a quarter was used, the memory is given back. */
const ROUNDS_BEFORE_SHRINK = 16;
const NOTHING = Buffer.alloc(0);

export class BodyBuffer {
  #storage: Buffer = NOTHING;
  #usedBytes = 0;
  #peakBytes = 0;
  #rounds = 0;

  /** What has been written since the last `clear`; valid until the next `clear` or `append`. */
  get bytes(): Buffer {
    return this.#storage.subarray(0, this.#usedBytes);
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get capacityBytes(): number {
    return this.#storage.length;
  }

  /** Begins a new round. Views of earlier rounds will be overwritten. */
  clear(): void {
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes);
    this.#usedBytes = 0;
    if (++this.#rounds < ROUNDS_BEFORE_SHRINK) return;
    const isWasteful = this.#peakBytes < this.#storage.length / 4;
    if (isWasteful && this.#storage.length > CAPACITY_BYTES_MIN) this.#storage = NOTHING;
    this.#peakBytes = 0;
    this.#rounds = 0;
  }

  /** Gives the memory back at once, as after a body that was too large. */
  release(): void {
    this.#storage = NOTHING;
    this.#usedBytes = 0;
    this.#peakBytes = 0;
    this.#rounds = 0;
  }

  /** Makes room for `bytes` in all, so that a body of known size does not grow the memory in steps. */
  reserve(bytes: number): void {
    if (bytes <= this.#storage.length) return;
    // Not from the shared pool, and not zeroed: pages that are never written cost nothing.
    const grown = Buffer.allocUnsafeSlow(Math.max(bytes, CAPACITY_BYTES_MIN));
    this.#storage.copy(grown, 0, 0, this.#usedBytes);
    this.#storage = grown;
  }

  append(chunk: Uint8Array): void {
    const neededBytes = this.#usedBytes + chunk.length;
    if (neededBytes > this.#storage.length)
      this.reserve(Math.max(neededBytes, this.#storage.length * 2));
    this.#storage.set(chunk, this.#usedBytes);
    this.#usedBytes = neededBytes;
  }
}

/** Idle memory beyond this is given back, but for one buffer. */
const IDLE_BYTES_MAX = 24 * 1024 * 1024;

/** Buffers that are lent for one round each, the one used last first: as many as rounds overlap, not more. */
export class BodyBufferPool {
  readonly #idle: BodyBuffer[] = [];
  readonly #idleBytesMax: number;

  constructor(idleBytesMax: number = IDLE_BYTES_MAX) {
    this.#idleBytesMax = idleBytesMax;
  }

  take(): BodyBuffer {
    return this.#idle.pop() ?? new BodyBuffer();
  }

  /** Its content must not be used any more. */
  give(buffer: BodyBuffer): void {
    const bytes = this.idleBytes + buffer.capacityBytes;
    if (this.#idle.length === 0 || bytes <= this.#idleBytesMax) this.#idle.push(buffer);
  }

  get idleBytes(): number {
    return this.#idle.reduce((sum, { capacityBytes }) => sum + capacityBytes, 0);
  }
}
