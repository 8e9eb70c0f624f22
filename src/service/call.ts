// One request in the making: what callers say about it, and what is made of that before anything is sent.

import { bug } from '../errors.ts';
import { BodyBuffer } from '../lib/body-buffer.ts';
import type { BodySink, Method } from './exchange.ts';

/** Who is served first when requests of one key have to wait for each other. */
export const PRIORITY = { metrics: 0, command: 1, logs: 2 } as const;
export type Priority = keyof typeof PRIORITY;

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number>>;
  /** Of the whole request, waiting for the token bucket included; `api.timeout` when absent. */
  readonly timeoutMs?: number;
  /** Of the unpacked body, 16 MiB when absent; one that is larger fails as `too_large`. */
  readonly maxBodyBytes?: number;
  readonly signal?: AbortSignal | undefined;
  /** `command` when absent. */
  readonly priority?: Priority;
}

export interface GetOptions extends RequestOptions {
  readonly accept: string;
  /** The memory to read the body into; what it held is overwritten. */
  readonly into?: BodyBuffer;
}

export interface DownloadOptions extends RequestOptions {
  readonly accept: string;
  /** Takes the body of a success; what an attempt that failed has written stays in it. */
  readonly sink: BodySink;
  /** Fails as `timeout` when no byte comes for this long. */
  readonly idleTimeoutMs: number;
}

export interface JsonOptions extends RequestOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
}

export interface Call {
  readonly method: Method;
  /** Below the origin, with the query. */
  readonly path: string;
  readonly accept: string;
  readonly body: string | null;
  /** True when it has neither body nor query that the service could find wrong. */
  readonly isPlain: boolean;
  readonly timeoutMs: number;
  /** Monotonic: `timeoutMs` after the call began. */
  readonly deadlineMs: number;
  readonly maxBodyBytes: number;
  readonly priority: Priority;
  readonly signal: AbortSignal | undefined;
  readonly into: BodyBuffer;
  readonly sink: BodySink | null;
  readonly idleTimeoutMs: number | null;
}

const BODY_BYTES_MAX = 16 * 1024 * 1024;

export interface CallBase {
  /** base_url, without a trailing slash. */
  readonly url: string;
  readonly timeoutMs: number;
  /** Monotonic. */
  readonly nowMs: number;
}

/** `path` begins with a slash, so that whatever follows stays behind the origin. */
export function prepareCall(
  method: Method,
  path: string,
  options: GetOptions & JsonOptions & Partial<DownloadOptions>,
  base: CallBase,
): Call {
  const { timeoutMs = base.timeoutMs } = options;
  if (!path.startsWith('/')) bug(`the path ${JSON.stringify(path)} does not begin with a slash`);
  // Parsed, so that a letter which HTTP cannot carry is percent-encoded instead of refused.
  const url = new URL(`${base.url}${path}`);
  for (const [name, value] of Object.entries(options.query ?? {}))
    url.searchParams.set(name, String(value));
  return {
    method,
    path: `${url.pathname}${url.search}`,
    accept: options.accept,
    body: options.body === undefined ? null : JSON.stringify(options.body),
    isPlain: options.body === undefined && Object.keys(options.query ?? {}).length === 0,
    timeoutMs,
    deadlineMs: base.nowMs + timeoutMs,
    maxBodyBytes: options.maxBodyBytes ?? BODY_BYTES_MAX,
    priority: options.priority ?? 'command',
    signal: options.signal,
    into: options.into ?? new BodyBuffer(),
    sink: options.sink ?? null,
    idleTimeoutMs: options.idleTimeoutMs ?? null,
  };
}
