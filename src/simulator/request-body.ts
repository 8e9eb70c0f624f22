// Reads a request's body up to a limit. Nothing is thrown: a body that is too long or breaks off is a value.

import type { IncomingMessage } from 'node:http';

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
