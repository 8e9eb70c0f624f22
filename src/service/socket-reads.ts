// Reads from a socket into the same memory again and again. Node by itself makes a buffer of 64 KiB for each read: for a
// page of 23 MB these are 350, and V8, which counts them as growth of its heap, collects the whole of it time and again.
//
//   kernel ──▶ buffer ──▶ undici's parser ──▶ exchange.ts, which copies the body to where it belongs
//                ▲                     │
//                └──── next read ◀─────┘ once it has taken everything
//
// What undici keeps beyond that stays as it is: what it does not take, since it is paused, keeps its memory, and the next
// read gets another one; a short read is copied, since undici keeps the pieces of a head until the head is whole.

import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/** Larger ones cost less for each byte, but every connection keeps one. */
const READ_BYTES = 64 * 1024;
/** Twice the longest head that undici accepts: a longer read is none that ends within a head. */
const SHORT_BYTES = READ_BYTES / 2;

/** Connects without TLS; what is received is valid until the handler of the dispatch returns. */
export function createPlainConnector(timeoutMs: number): buildConnector.connector {
  return (options, callback) => {
    const reads = new SocketReads();
    const connect = buildConnector({ timeout: timeoutMs, allowH2: false, onread: reads.options });
    connect(options, (...result) => {
      reads.socket = result[1];
      callback(...result);
    });
  };
}

class SocketReads {
  socket: Socket | null = null;
  #next: Buffer | null = null;

  /** `onread` of net.connect(). Node asks for memory at first and after every read. */
  readonly options = {
    buffer: (): Buffer => this.#next ?? Buffer.allocUnsafeSlow(READ_BYTES),
    callback: (bytes: number, buffer: Uint8Array): boolean => this.#take(bytes, buffer as Buffer),
  };

  /** Hands a read to undici at once; false asks Node to pause. */
  #take(bytes: number, buffer: Buffer): boolean {
    const { socket } = this;
    this.#next = buffer;
    if (socket === null || socket.destroyed) return false;
    const read = buffer.subarray(0, bytes);
    if (bytes < SHORT_BYTES) return socket.push(Buffer.from(read));
    const isMoreWanted = socket.push(read);
    // Without waiting for Node's turn to say so, which comes when the memory may be in use again.
    socket.emit('readable');
    if (socket.readableLength === 0) return true;
    this.#next = null;
    return isMoreWanted;
  }
}
