// A LogApi over a scripted server for tests, and the options with which it is asked.

import type { ServerResponse } from 'node:http';
import type { LogEndpointsConfig, ServiceConfig } from '../../src/config/config.ts';
import { DEFAULT_ENDPOINTS } from '../../src/config/endpoints.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import type { AskOptions } from '../../src/logs/list.ts';
import { ServiceHttp } from '../../src/service/http-client.ts';
import { LogApi } from '../../src/service/logs-api.ts';
import { type RecordedRequest, startHttpServer } from './http-server.ts';
import { testApi } from './test-api.ts';

export const ENDPOINTS: LogEndpointsConfig = DEFAULT_ENDPOINTS.logs;

export interface OpenedApi extends AsyncDisposable {
  readonly api: LogApi;
  readonly requests: readonly RecordedRequest[];
}

/** Answers in the order of the requests; the last one stands for all that follow. */
export async function openLogApi(
  answers: readonly ((response: ServerResponse, request: RecordedRequest) => void)[],
  changes: Partial<LogEndpointsConfig> = {},
): Promise<OpenedApi> {
  let number = 0;
  const server = await startHttpServer((request, response) => {
    const answer = answers[Math.min(number++, answers.length - 1)];
    answer?.(response, request);
  });
  const client = new ServiceHttp({
    api: testApi(server.origin),
    clock: systemClock,
    counters: new Counters(),
  });
  const api = new LogApi({
    client,
    endpoints: { ...ENDPOINTS, ...changes },
    timeoutMs: 8000,
    priority: 'logs',
  });
  const dispose = async (): Promise<void> => {
    await client.close();
    await server[Symbol.asyncDispose]();
  };
  return { api, requests: server.requests, [Symbol.asyncDispose]: dispose };
}

export function json(value: unknown, status = 200): (response: ServerResponse) => void {
  return response => {
    response.statusCode = status;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(value));
  };
}

export function askOptions(
  changes: Partial<AskOptions> & { readonly clock?: Clock } = {},
): AskOptions {
  return {
    clock: systemClock,
    random: () => 0,
    signal: new AbortController().signal,
    giveUpAtMs: Infinity,
    onFailure: () => undefined,
    ...changes,
  };
}

export function testService(id: string, name: string = id): ServiceConfig {
  return { id, name, attributes: {}, api: testApi('http://127.0.0.1:1') };
}
