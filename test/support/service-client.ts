// The typed client over a real door to a small server, which answers as the test says.

import { systemClock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { ServiceClient } from '../../src/service/client.ts';
import { ServiceHttp } from '../../src/service/http-client.ts';
import { type HttpTestServer, type RecordedRequest, startHttpServer } from './http-server.ts';
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

export interface ScriptedService extends AsyncDisposable {
  readonly client: ServiceClient;
  readonly http: ServiceHttp;
  readonly server: HttpTestServer;
}

/** `answer` is given each request and its number, from 0. */
export async function scriptedService(
  answer: (request: RecordedRequest, index: number) => ScriptedAnswer,
): Promise<ScriptedService> {
  const server = await startHttpServer((request, response) => {
    const {
      status = 200,
      body,
      isLost = false,
      isSilent = false,
    } = answer(request, server.requests.length - 1);
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
  const http = new ServiceHttp({
    api: testApi(server.origin),
    clock: systemClock,
    counters: new Counters(),
  });
  return {
    client: new ServiceClient({ http }),
    http,
    server,
    async [Symbol.asyncDispose]() {
      await http.close();
      await server[Symbol.asyncDispose]();
    },
  };
}
