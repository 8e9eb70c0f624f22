// Calls an endpoint of the simulator without a server around it.

import type { Endpoint, EndpointRequest } from '../../src/simulator/answer.ts';

export const NOW: number = Date.UTC(2026, 2, 4, 9);
export const JSON_TYPE = {
  'content-type': 'application/json',
  accept: 'application/json',
} as const;

interface Called {
  /** 404 if the endpoint does not know the path or the method. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The parsed body if it is JSON; otherwise its text. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into it
  readonly value: any;
}

export type Call = (
  method: string,
  url: string,
  json?: unknown,
  changes?: Partial<Pick<EndpointRequest, 'headers' | 'nowMs'>>,
) => Called;

export function callerOf(create: () => Endpoint): Call {
  const endpoint = create();
  return (method, url, json, changes = {}) => {
    const { pathname, searchParams: query } = new URL(url, 'http://localhost');
    const path = pathname === '/' ? '' : pathname;
    const asked = { method, url, path, query, headers: JSON_TYPE, json, nowMs: NOW, ...changes };
    const { status = 404, headers = {}, body = Buffer.alloc(0) } = endpoint(asked) ?? {};
    const isJson = headers['content-type'] === 'application/json';
    const text = body.toString();
    return { status, headers, body, value: isJson ? JSON.parse(text) : text };
  };
}
