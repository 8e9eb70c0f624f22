// The contract of the simulator's endpoints: the request, and the answer as it is sent. Also the
// two error bodies of the service: one for the agent's paths, one for all others.

import { STATUS_CODES } from 'node:http';
import type { z } from 'zod';

export interface EndpointRequest {
  readonly method: string;
  /** The requested path and query as they were sent. */
  readonly url: string;
  /** The requested path without a trailing slash; an endpoint gets only the part after its own path. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed body, or undefined if there is none. */
  readonly json: unknown;
  /** By the service's clock. */
  readonly nowMs: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** One part of the service; returns null for an unknown path or method. */
export type Endpoint = (request: EndpointRequest) => Answer | null;

export function jsonAnswer(status: number, value: unknown): Answer {
  const headers = { 'content-type': 'application/json' };
  return { status, headers, body: Buffer.from(JSON.stringify(value)) };
}

export function emptyAnswer(status: number, headers: Answer['headers'] = {}): Answer {
  return { status, headers, body: Buffer.alloc(0) };
}

export function errorAnswer(status: number, message: string, request: EndpointRequest): Answer {
  const timestamp = new Date(request.nowMs).toISOString();
  const error = STATUS_CODES[status]?.toUpperCase().replaceAll(' ', '_') ?? 'ERROR';
  return jsonAnswer(status, {
    errors: [{ error, message }],
    exception: 'ServiceException',
    path: request.path,
    code: status,
    timestamp,
    trace_id: Buffer.from(`${timestamp}${request.path}`).toString('hex').slice(-32),
  });
}

/** The agent's form of an error: its place in the request, and a message. */
export function detailAnswer(status: number, place: readonly string[], message: string): Answer {
  const type = status === 401 ? 'authentication_error' : 'value_error';
  return jsonAnswer(status, { detail: [{ loc: place, msg: message, type }] });
}

/** Returns `answer` for the JSON body of a request, or `refuse` for its first mistake and that mistake's place. */
export function withBody<T>(
  schema: z.ZodType<T>,
  { headers, json }: EndpointRequest,
  refuse: (place: readonly string[], message: string) => Answer,
  answer: (body: T) => Answer,
): Answer {
  const type = headers['content-type'];
  if (typeof type !== 'string' || !/^application\/json\s*(?:;|$)/iu.test(type))
    return refuse(['header', 'Content-Type'], 'must be application/json');
  if (json === undefined) return refuse(['body'], 'is not JSON');
  const read = schema.safeParse(json);
  if (read.success) return answer(read.data);
  const [issue] = read.error.issues;
  return refuse(['body', ...(issue?.path ?? []).map(String)], issue?.message ?? '');
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** The decoded segments of a path such as `/backups/a%3Ab`; invalid ones stay unchanged. */
export function segmentsOf(path: string): readonly string[] {
  return path
    .split('/')
    .slice(1)
    .map(part => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
}
