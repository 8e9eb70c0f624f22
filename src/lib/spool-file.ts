// A temporary file for data that is too large for memory: written once, read at any offset, and gone when it is closed.
// It is unlinked as soon as it is opened, so that nobody else can open it and nothing remains when the process is killed.

import { randomUUID } from 'node:crypto';
import { constants, type WriteStream } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** The most bytes that wait to be written before `write` asks its caller to stop. */
const WAITING_BYTES_MAX = 1024 * 1024;

export class SpoolFile {
  /** Why writing failed; then nothing more is written. */
  failure: Error | null = null;
  /** The bytes passed to `write`. */
  bytes = 0;
  readonly #file: FileHandle;
  readonly #stream: WriteStream;

  private constructor(file: FileHandle) {
    this.#file = file;
    this.#stream = file.createWriteStream({ highWaterMark: WAITING_BYTES_MAX, autoClose: false });
    this.#stream.on('error', error => {
      this.failure = error;
      // A caller that waits must learn of it.
      this.#stream.emit('drain');
    });
  }

  /** Rejects with the system's error if no file can be created in the directory. */
  static async create(directory: string): Promise<SpoolFile> {
    const path = join(directory, `.spool-${randomUUID()}`);
    const { O_CREAT, O_EXCL, O_RDWR } = constants;
    const file = await open(path, O_CREAT | O_EXCL | O_RDWR, 0o600);
    try {
      await unlink(path);
    } catch (error) {
      await file.close();
      throw error;
    }
    return new SpoolFile(file);
  }

  /** For reading once `end` has resolved; valid until `close`. */
  get fd(): number {
    return this.#file.fd;
  }

  /** Takes a copy. False asks the caller to wait for the listener of `onDrain`. */
  write(chunk: Buffer): boolean {
    if (this.failure !== null) return true;
    this.bytes += chunk.length;
    return this.#stream.write(Buffer.from(chunk));
  }

  /** There is one listener; a later one replaces it. */
  onDrain(listener: () => void): void {
    this.#stream.removeAllListeners('drain').on('drain', listener);
  }

  /** Resolves when everything is in the file, or `failure` is set. */
  end(): Promise<void> {
    return new Promise(resolve => this.#stream.end(() => resolve()));
  }

  /** Reads up to `length` bytes; fewer only at the end. */
  async read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    let read = 0;
    while (read < length) {
      const { bytesRead } = await this.#file.read(bytes, read, length - read, offset + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return bytes.subarray(0, read);
  }

  /** Must not be called during a read. */
  async close(): Promise<void> {
    this.#stream.destroy();
    await this.#file.close();
  }
}
