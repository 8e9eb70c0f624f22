// Sends an answer as the faults say: replaced, slowly, in part, or not at all. Ends when the
// answer is sent or its reader is gone; a reader that goes away is not an error.

import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import type { Clock } from '../../src/lib/clock.ts';
import type { Answer } from '../../src/simulator/answer.ts';

export interface DeliveryFaults {
  /** Take the request and never answer. */
  readonly isSilent: boolean;
  readonly body: 'normal' | 'html' | 'empty' | 'gzip-bomb';
  readonly contentType: string | null;
  /** Stop in the middle: short of the announced length, or within a chunked body. */
  readonly cut: 'none' | 'length' | 'chunked';
  readonly bytesPerSecond: number | null;
}

export const NO_DELIVERY_FAULTS: DeliveryFaults = {
  isSilent: false,
  body: 'normal',
  contentType: null,
  cut: 'none',
  bytesPerSecond: null,
};

interface Delivery {
  readonly response: ServerResponse;
  readonly answer: Answer;
  readonly faults: DeliveryFaults;
  readonly clock: Clock;
  /** The time in the Date header. */
  readonly nowMs: number;
}

const HTML: Omit<Answer, 'status'> = {
  headers: { 'content-type': 'text/html' },
  body: Buffer.from(
    '<!doctype html><html><head><title>Maintenance</title></head><body>Back soon.</body></html>\n',
  ),
};
const DRIPS_PER_SECOND = 10;

export async function deliver(delivery: Delivery): Promise<void> {
  const { response, faults, nowMs } = delivery;
  if (faults.isSilent) return;
  const { status, ...normal } = delivery.answer;
  const { headers, body } = faults.body === 'html' ? HTML : normal;
  const bytes = faults.body === 'empty' ? Buffer.alloc(0) : body;
  response.sendDate = false;
  response.setHeader('date', new Date(nowMs).toUTCString());
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (faults.contentType !== null) response.setHeader('content-type', faults.contentType);
  response.statusCode = status;
  if (faults.body === 'gzip-bomb') {
    response.setHeader('content-encoding', 'gzip');
    return await pipeline(gzipBomb(), response).catch(() => undefined);
  }
  if (faults.cut !== 'chunked') response.setHeader('content-length', bytes.length);
  await transmit(delivery, bytes);
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

const BOMB_PART = Buffer.alloc(2 ** 20);

/** The parts of a gzip file of zeros (2 GiB by default) that is tiny on the wire: the same member again and again. */
export function* gzipBomb(mebibytes = 2_048): Generator<Buffer> {
  const member = gzipSync(BOMB_PART);
  for (let i = 0; i < mebibytes; i++) yield member;
}
