// Reads a request's body up to a limit. Nothing is thrown: a body that is too long or breaks off is a value.

import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';

export type RequestBody =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'too-long' }
  | { readonly kind: 'broken' };

export async function readBody(request: IncomingMessage, maxBytes: number): Promise<RequestBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      // The rest is read and dropped, or the client would not get to see the answer.
      if (bytes <= maxBytes) chunks.push(chunk);
    }
  } catch {
    return { kind: 'broken' };
  }
  return bytes > maxBytes ? { kind: 'too-long' } : { kind: 'whole', bytes: Buffer.concat(chunks) };
}

/** True when the client has gone. A client that left while the loop was busy is seen only when the loop has polled. */
export async function hasLeft({ socket }: IncomingMessage): Promise<boolean> {
  for (let turn = 0; turn < 2; turn++) await nextTurn();
  return socket.destroyed || socket.readableEnded || !socket.writable;
}
