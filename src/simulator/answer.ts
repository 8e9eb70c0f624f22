// The contract of the simulator's endpoints: the request, the answer before a transport fault changes it; and the two
// error bodies of the service: one of the agent's paths, one of all others.

import { STATUS_CODES } from 'node:http';
import type { z } from 'zod';

export interface EndpointRequest {
  readonly method: string;
  /** As it came, without a trailing slash; for an endpoint also without the path of the endpoint. */
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

/** The agent's form of an error: where in the request, and what. */
export function detailAnswer(status: number, place: readonly string[], message: string): Answer {
  const type = status === 401 ? 'authentication_error' : 'value_error';
  return jsonAnswer(status, { detail: [{ loc: place, msg: message, type }] });
}

/** Answers a request by its JSON body, or by what `refuse` answers to the first mistake, at that place of the request. */
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
