// Puts an answer on the wire the way the faults say: replaced, compressed, slowly, in part, or not at all.
// Ends when the answer is out or its reader has gone; it never throws for the reader's sake.

import type { ServerResponse } from 'node:http';
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { Answer, FaultTable } from './answer.ts';
import { gzipBomb } from './gzip-bomb.ts';
import { METRICS_PATH } from './metrics-endpoint.ts';

/** What can go wrong on the way of any answer. */
export interface TransportFaults {
  /** Requests whose path begins like this suffer the transport faults. */
  readonly path: string;
  /** And of these only those with this method; null: all. */
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | null;
  /** How many more requests suffer; null: until the faults change. */
  readonly times: number | null;
  /** Answer with this status and an error body. */
  readonly status: number | null;
  /** The Retry-After header of that answer: seconds or a date, sent as it is. */
  readonly retryAfter: string | null;
  /** Redirect there; `same-origin` leads to an address of the simulator that answers normally. */
  readonly redirectTo: string | null;
  /** Take the request and never answer. */
  readonly isSilent: boolean;
  readonly body: 'normal' | 'html' | 'empty' | 'gzip-bomb';
  readonly contentType: string | null;
  readonly contentEncoding: 'identity' | 'gzip' | 'deflate' | 'zstd';
  /** Stop in the middle: short of the announced length, or within a chunked body. */
  readonly cut: 'none' | 'length' | 'chunked';
  /** Send the body this slowly. */
  readonly bytesPerSecond: number | null;
}

/** The text of a header. */
const HEADER = z
  .string()
  .max(200)
  .regex(/^[\t -~]*$/u);
const COUNT = z.int().min(1).max(1_000_000_000);

export const TRANSPORT_FAULTS: FaultTable<TransportFaults> = {
  path: [z.string().startsWith('/'), METRICS_PATH],
  method: [z.enum(['GET', 'POST', 'PATCH', 'DELETE']).nullable(), null],
  times: [COUNT.nullable(), null],
  status: [z.int().min(200).max(599).nullable(), null],
  retryAfter: [HEADER.nullable(), null],
  redirectTo: [z.union([z.literal('same-origin'), z.url()]).nullable(), null],
  isSilent: [z.boolean(), false],
  body: [z.enum(['normal', 'html', 'empty', 'gzip-bomb']), 'normal'],
  contentType: [HEADER.nullable(), null],
  contentEncoding: [z.enum(['identity', 'gzip', 'deflate', 'zstd']), 'identity'],
  cut: [z.enum(['none', 'length', 'chunked']), 'none'],
  bytesPerSecond: [COUNT.nullable(), null],
};

export interface Delivery {
  readonly response: ServerResponse;
  readonly answer: Answer;
  readonly faults: TransportFaults;
  readonly clock: Clock;
  /** The time in the Date header. */
  readonly nowMs: number;
}

const HTML =
  '<!doctype html><html><head><title>Maintenance</title></head><body>Back soon.</body></html>\n';
const DRIPS_PER_SECOND = 10;

const ENCODERS: Readonly<Record<TransportFaults['contentEncoding'], (body: Buffer) => Buffer>> = {
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

function alterBody(answer: Answer, faults: TransportFaults): Answer {
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
