// The contract of the simulator's endpoints: the request, the answer before a transport fault touches it, the table of
// an endpoint's own faults; and the two error bodies of the service: one of the agent's paths, one of all others.

import type { z } from 'zod';

export interface EndpointRequest {
  readonly method: string;
  /** As it came, without a trailing slash; for an endpoint also without its own beginning. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed body, or undefined where there is none. */
  readonly json: unknown;
  /** By the service's clock. */
  readonly nowMs: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** One part of the service; null for a path or method that it does not have. */
export type Endpoint = (request: EndpointRequest) => Answer | null;

/** The faults of one part of the service, each declared once: its values, and the one that means no fault. */
export type FaultTable<Faults> = {
  readonly [Name in keyof Faults]-?: readonly [values: z.ZodType<Faults[Name]>, none: Faults[Name]];
};

/** The record in which no fault of the table is set. */
export function withoutFaults<Faults extends object>(table: FaultTable<Faults>): Faults {
  const rows = Object.entries<readonly [unknown, unknown]>(table);
  return Object.fromEntries(rows.map(([name, [, none]]) => [name, none])) as Faults;
}

export function jsonAnswer(status: number, value: unknown): Answer {
  const headers = { 'content-type': 'application/json' };
  return { status, headers, body: Buffer.from(JSON.stringify(value)) };
}

export function errorAnswer(status: number, message: string, request: EndpointRequest): Answer {
  const timestamp = new Date(request.nowMs).toISOString();
  return jsonAnswer(status, {
    errors: [{ error: ERROR_NAMES[status] ?? 'ERROR', message }],
    exception: 'ServiceException',
    path: request.path,
    code: status,
    timestamp,
    trace_id: Buffer.from(`${timestamp}${request.path}`).toString('hex').slice(-32),
  });
}

const ERROR_NAMES: Readonly<Record<number, string>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
};

/** The agent's form of an error: where in the request, what, and of which kind. */
export function detailAnswer(status: number, place: readonly string[], message: string): Answer {
  const type = status === 401 ? 'authentication_error' : 'value_error';
  return jsonAnswer(status, { detail: [{ loc: place, msg: message, type }] });
}

/** The body as a JSON object, or an empty one. */
export function objectOf(json: unknown): Readonly<Record<string, unknown>> {
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  return isObject ? (json as Record<string, unknown>) : {};
}

/** True when the body is said to be JSON, as the service wants it of every body. */
export function isJsonSaid({ headers }: EndpointRequest): boolean {
  const type = headers['content-type'];
  return typeof type === 'string' && /^application\/json\s*(?:;|$)/iu.test(type);
}

/** A member of a body of any type, as text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** The decoded parts of a path like `/backups/a%3Ab`; one that cannot be decoded stays as it is. */
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

/** The first of these members that is missing or empty, or undefined. */
export function missingMember(json: unknown, names: readonly string[]): string | undefined {
  const object = objectOf(json);
  return names.find(name => object[name] === undefined || object[name] === '');
}
