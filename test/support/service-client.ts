// The typed client over a real door to a small server, which answers as the test says.

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
  /** Sent as JSON; bytes as they are; undefined: an empty body. */
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

/** The door to the service at an address. */
export function openHttp(
  baseUrl: string,
  settings: Partial<ApiConfig> = {},
): AsyncDisposable & Pick<OpenedService, 'http' | 'counters'> {
  const counters = new Counters();
  const http = new ServiceHttp({ api: testApi(baseUrl, settings), clock: systemClock, counters });
  return { http, counters, [Symbol.asyncDispose]: () => http.close() };
}

/** The door to a small server; both close with it. */
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

/** `answer` is given each request and its number, from 0. */
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
