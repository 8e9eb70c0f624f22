// The typed client over the real HTTP client, connected to a small server that answers as the test says.

import type { ApiConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { ServiceClient } from '../../src/service/client.ts';
import { ServiceHttp } from '../../src/service/http-client.ts';
import {
  type Handler,
  type HttpTestServer,
  type RecordedRequest,
  startHttpServer,
} from './http-server.ts';
import { testApi } from './test-api.ts';

export interface ScriptedAnswer {
  readonly status?: number;
  /** A value is sent as JSON, bytes unchanged; undefined is an empty body. */
  readonly body?: unknown;
  /** Hangs up instead of answering. */
  readonly isLost?: boolean;
  /** Takes the request and says nothing. */
  readonly isSilent?: boolean;
}

export interface OpenedService extends AsyncDisposable {
  readonly http: ServiceHttp;
  readonly counters: Counters;
  readonly server: HttpTestServer;
}

export interface ScriptedService extends OpenedService {
  readonly client: ServiceClient;
}

/** The HTTP client for the service at an address. */
export function openHttp(
  baseUrl: string,
  settings: Partial<ApiConfig> = {},
): AsyncDisposable & Pick<OpenedService, 'http' | 'counters'> {
  const counters = new Counters();
  const http = new ServiceHttp({ api: testApi(baseUrl, settings), clock: systemClock, counters });
  return { http, counters, [Symbol.asyncDispose]: () => http.close() };
}

/** Starts a small server with an HTTP client for it. Disposing the result closes both. */
export async function openService(
  handler: Handler,
  settings: Partial<ApiConfig> = {},
): Promise<OpenedService> {
  const server = await startHttpServer(handler);
  const opened = openHttp(server.origin, settings);
  const dispose = async (): Promise<void> => {
    await opened[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
  return { ...opened, server, [Symbol.asyncDispose]: dispose };
}

/** Starts a server that answers each request with the result of `answer`; the index counts requests from 0. */
export async function scriptedService(
  answer: (request: RecordedRequest, index: number) => ScriptedAnswer,
): Promise<ScriptedService> {
  const opened = await openService((request, response) => {
    const {
      status = 200,
      body,
      isLost = false,
      isSilent = false,
    } = answer(request, opened.server.requests.length - 1);
    if (isLost) {
      response.destroy();
      return;
    }
    if (isSilent) return;
    response.statusCode = status;
    if (Buffer.isBuffer(body)) {
      response.end(body);
      return;
    }
    response.setHeader('content-type', 'application/json');
    response.end(body === undefined ? '' : JSON.stringify(body));
  });
  return { ...opened, client: new ServiceClient({ http: opened.http }) };
}
