// A LogApi over a scripted server for tests, and the options with which it is asked.

import type { ServerResponse } from 'node:http';
import type { LogEndpointsConfig, ServiceConfig } from '../../src/config/config.ts';
import { DEFAULT_ENDPOINTS } from '../../src/config/endpoints.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import type { AskOptions } from '../../src/logs/list.ts';
import { LogsApi } from '../../src/service/logs-api.ts';
import type { RecordedRequest } from './http-server.ts';
import { openService } from './service-client.ts';
import { testApi } from './test-api.ts';

export const ENDPOINTS: LogEndpointsConfig = DEFAULT_ENDPOINTS.logs;

export interface OpenedApi extends AsyncDisposable {
  readonly api: LogsApi;
  readonly requests: readonly RecordedRequest[];
}

/** Answers in the order of the requests; the last one stands for all that follow. */
export async function openLogApi(
  answers: readonly ((response: ServerResponse, request: RecordedRequest) => void)[],
  changes: Partial<LogEndpointsConfig> = {},
): Promise<OpenedApi> {
  let number = 0;
  const { http, server, ...rest } = await openService((request, response) => {
    const answer = answers[Math.min(number++, answers.length - 1)];
    answer?.(response, request);
  });
  const api = new LogsApi(http, { ...ENDPOINTS, ...changes }, 'logs');
  return { ...rest, api, requests: server.requests };
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
