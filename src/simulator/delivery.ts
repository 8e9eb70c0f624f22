// Puts an answer on the wire the way the faults say: replaced, compressed, slowly, in part, or not at all.
// Ends when the answer is out or its reader has gone; it never throws for the reader's sake.

import type { ServerResponse } from 'node:http';
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { Clock } from '../lib/clock.ts';
import type { Answer } from './answer.ts';
import type { Faults } from './faults.ts';
import { gzipBomb } from './gzip-bomb.ts';

export interface Delivery {
  readonly response: ServerResponse;
  readonly answer: Answer;
  readonly faults: Faults;
  readonly clock: Clock;
  /** What the Date header says. */
  readonly nowMs: number;
}

const HTML =
  '<!doctype html><html><head><title>Maintenance</title></head><body>Back soon.</body></html>\n';
const DRIPS_PER_SECOND = 10;

const ENCODERS: Readonly<Record<Faults['contentEncoding'], (body: Buffer) => Buffer>> = {
  identity: body => body,
  gzip: body => gzipSync(body, { level: 1 }),
  deflate: body => deflateSync(body, { level: 1 }),
  zstd: body => zstdCompressSync(body),
};

export async function deliver(delivery: Delivery): Promise<void> {
  const { response, faults, nowMs } = delivery;
  if (faults.isSilent) return;
  const answer = alterBody(delivery.answer, faults);
  response.sendDate = false;
  response.setHeader('date', new Date(nowMs).toUTCString());
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  if (faults.contentType !== null) response.setHeader('content-type', faults.contentType);
  response.statusCode = answer.status;
  if (faults.body === 'gzip-bomb') {
    response.setHeader('content-encoding', 'gzip');
    return await writeAll(response, gzipBomb());
  }
  const body = ENCODERS[faults.contentEncoding](answer.body);
  if (faults.contentEncoding !== 'identity') {
    response.setHeader('content-encoding', faults.contentEncoding);
  }
  if (faults.cut !== 'chunked') response.setHeader('content-length', body.length);
  await transmit(delivery, body);
}

function alterBody(answer: Answer, faults: Faults): Answer {
  if (faults.body === 'empty') return { ...answer, body: Buffer.alloc(0) };
  if (faults.body !== 'html') return answer;
  return { ...answer, headers: { 'content-type': 'text/html' }, body: Buffer.from(HTML) };
}

async function transmit(delivery: Delivery, body: Buffer): Promise<void> {
  const { response, faults } = delivery;
  const isCut = faults.cut !== 'none';
  const sent = isCut ? body.subarray(0, Math.floor(body.length / 2)) : body;
  if (faults.bytesPerSecond === null) {
    if (!isCut) return void response.end(sent);
    return void response.write(sent, () => response.destroy());
  }
  await drip(delivery, sent, faults.bytesPerSecond);
  if (isCut) response.destroy();
  else response.end();
}

async function drip(
  { response, clock }: Delivery,
  body: Buffer,
  bytesPerSecond: number,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const bytes = Math.max(1, Math.floor(bytesPerSecond / DRIPS_PER_SECOND));
  response.flushHeaders();
  for (let from = 0; from < body.length && !gone.signal.aborted; from += bytes) {
    response.write(body.subarray(from, from + bytes));
    await clock.sleep((1000 * bytes) / bytesPerSecond, gone.signal);
  }
}

async function writeAll(response: ServerResponse, parts: Iterable<Buffer>): Promise<void> {
  for (const part of parts) {
    if (response.destroyed) return;
    if (response.write(part)) continue;
    await new Promise<void>(resolve => {
      const go = (): void => {
        response.off('drain', go).off('close', go);
        resolve();
      };
      response.once('drain', go).once('close', go);
    });
  }
  response.end();
}
