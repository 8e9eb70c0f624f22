// Sends one request to a loopback server and returns the raw answer, even an incomplete one: it follows no redirect and
// unpacks nothing.

import { type IncomingHttpHeaders, request } from 'node:http';
import { request as requestTls } from 'node:https';

export interface Heard {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** False when the connection ended before the answer did. */
  readonly isWhole: boolean;
}

export interface Question {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A value is sent as JSON, bytes unchanged. */
  readonly body?: unknown;
  readonly ca?: string;
  readonly signal?: AbortSignal;
}

/** Rejects only when no answer began. */
export function ask(url: string, question: Question = {}): Promise<Heard> {
  const { method = 'GET', headers = {}, body, ...rest } = question;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body) ?? '');
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const options = { method, headers: { ...type, ...headers }, agent: false, ...rest };
  return new Promise((resolve, reject) => {
    const send = url.startsWith('https:') ? requestTls : request;
    const sent = send(url, options, response => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => {});
      response.on('close', () => {
        const { statusCode: status = 0, headers, complete: isWhole } = response;
        resolve({ status, headers, body: Buffer.concat(chunks), isWhole });
      });
    });
    sent.on('error', reject);
    sent.end(bytes);
  });
}
