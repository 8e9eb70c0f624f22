// Removes interim answers (1xx) from what a connection reads. Some gateways send a `100 Continue` that nobody asked for, and
// undici takes it for a broken answer.

import type { Socket } from 'node:net';

/** Of `HTTP/1.1 100`. */
const STATUS_LENGTH = 12;
const END = '\r\n\r\n';
/** A longer one is left to undici, which refuses it. */
const LENGTH_MAX = 4096;

/** Must be called before the first request. */
export function skipInterimAnswers(socket: Socket): void {
  const read = socket.read.bind(socket);
  /** True from a request until the first byte of its final answer. */
  let isAtStart = true;
  let kept: Buffer = Buffer.alloc(0);
  onWrite(socket, () => (isAtStart = true));
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size) as Buffer | null;
      if (chunk === null || !isAtStart) return chunk;
      kept = withoutInterim(kept.length === 0 ? chunk : Buffer.concat([kept, chunk]));
      if (mayBeInterim(kept)) {
        // The next chunk shows what it is; it may overwrite this one.
        kept = Buffer.from(kept);
        continue;
      }
      const rest = kept;
      kept = Buffer.alloc(0);
      isAtStart = false;
      return rest;
    }
  };
}

/** Calls `run` before each write to the socket: a request begins, or goes on. */
export function onWrite(socket: Socket, run: () => void): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  socket.write = (...args: unknown[]): boolean => {
    run();
    return write(...args);
  };
}

function withoutInterim(bytes: Buffer): Buffer {
  let rest = bytes;
  while (isInterim(rest)) {
    const end = rest.indexOf(END);
    if (end === -1) break;
    rest = rest.subarray(end + END.length);
  }
  return rest;
}

/** A 101 is no interim answer: nobody asked to change the protocol. */
function isInterim(bytes: Buffer): boolean {
  return /^HTTP\/1\.[01] 1(?!01)\d\d/.test(bytes.toString('latin1', 0, STATUS_LENGTH));
}

/** True if more bytes must come to tell, or to end it. */
function mayBeInterim(bytes: Buffer): boolean {
  if (bytes.length >= STATUS_LENGTH) return isInterim(bytes) && bytes.length <= LENGTH_MAX;
  return 'HTTP/1.1 1'.startsWith(bytes.toString('latin1', 0, 10).replace('/1.0', '/1.1'));
}
