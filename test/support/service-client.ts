// The typed client over a real door to a small server, which answers as the test says.

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
  readonly server: HttpTestServer;
}

export interface ScriptedService extends OpenedService {
  readonly client: ServiceClient;
}

/** The door to a small server; both close with it. */
export async function openService(handler: Handler): Promise<OpenedService> {
  const server = await startHttpServer(handler);
  const api = testApi(server.origin);
  const http = new ServiceHttp({ api, clock: systemClock, counters: new Counters() });
  const dispose = async (): Promise<void> => {
    await http.close();
    await server[Symbol.asyncDispose]();
  };
  return { http, server, [Symbol.asyncDispose]: dispose };
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
