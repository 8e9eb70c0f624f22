// A LogsApi over a scripted server for tests, and the same API as a pull uses it.

import type { ServerResponse } from 'node:http';
import type { LogEndpointsConfig, ServiceConfig } from '../../src/config/config.ts';
import { DEFAULT_ENDPOINTS } from '../../src/config/endpoints.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { LogMeter } from '../../src/logs/log-meter.ts';
import { PulledApi } from '../../src/logs/pull.ts';
import { LogsApi } from '../../src/service/logs-api.ts';
import type { RecordedRequest } from './http-server.ts';
import { testReport } from './pull-report.ts';
import { openService } from './service-client.ts';
import { testApi } from './test-api.ts';

export const ENDPOINTS: LogEndpointsConfig = DEFAULT_ENDPOINTS.logs;

export interface OpenedApi extends AsyncDisposable {
  readonly api: LogsApi;
  readonly requests: readonly RecordedRequest[];
}

/** Gives the answers in the order of the requests; the last answer is repeated. */
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

/** Requests as a running pull sends them. */
export function testPulledApi(api: LogsApi, clock: Clock): PulledApi {
  const { pointers } = api;
  return new PulledApi({
    api,
    items: { pointers, services: [testService('db1')], otherServiceCount: 0, types: ['error-log'] },
    report: testReport(clock, { kind: 'logs' }),
    meter: new LogMeter(new Counters(), silentLogger, clock),
    random: () => 0.5,
  });
}

export function testService(id: string, name: string = id): ServiceConfig {
  return { id, name, attributes: {}, api: testApi('http://127.0.0.1:1') };
}
