// A growable, reusable buffer: each body is read into the same memory. A new large Buffer per scrape would trigger full
// garbage collections. Memory that the last rounds did not need is released.

const CAPACITY_BYTES_MIN = 64 * 1024;
/** After this many rounds with less than a quarter in use, the memory is released. */
const ROUNDS_BEFORE_SHRINK = 16;
const NOTHING = Buffer.alloc(0);

export class BodyBuffer {
  #storage: Buffer = NOTHING;
  #usedBytes = 0;
  #peakBytes = 0;
  #rounds = 0;

  /** The bytes written since the last `clear`; valid until the next `clear` or `append`. */
  get bytes(): Buffer {
    return this.#storage.subarray(0, this.#usedBytes);
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get capacityBytes(): number {
    return this.#storage.length;
  }

  /** Begins a new round, which overwrites views of earlier rounds. */
  clear(): void {
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes);
    this.#usedBytes = 0;
    if (++this.#rounds < ROUNDS_BEFORE_SHRINK) return;
    const isWasteful = this.#peakBytes < this.#storage.length / 4;
    if (isWasteful && this.#storage.length > CAPACITY_BYTES_MIN) this.#storage = NOTHING;
    this.#peakBytes = 0;
    this.#rounds = 0;
  }

  /** Releases the memory at once, for example after a body that was too large. */
  release(): void {
    this.#storage = NOTHING;
    this.#usedBytes = 0;
    this.#peakBytes = 0;
    this.#rounds = 0;
  }

  /** Makes room for `bytes` in total, so that a body of known size does not grow the buffer in steps. */
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

/** The limit of idle memory; one buffer is always kept. */
const IDLE_BYTES_MAX = 24 * 1024 * 1024;

/** Lends buffers for one round each, the last used one first. So it has only as many buffers as rounds overlap. */
export class BodyBufferPool {
  readonly #idle: BodyBuffer[] = [];

  take(): BodyBuffer {
    return this.#idle.pop() ?? new BodyBuffer();
  }

  /** The content of the buffer must not be used afterwards. */
  give(buffer: BodyBuffer): void {
    const bytes = this.idleBytes + buffer.capacityBytes;
    if (this.#idle.length === 0 || bytes <= IDLE_BYTES_MAX) this.#idle.push(buffer);
  }

  get idleBytes(): number {
    return this.#idle.reduce((sum, { capacityBytes }) => sum + capacityBytes, 0);
  }
}
