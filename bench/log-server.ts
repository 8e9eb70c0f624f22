// The logs endpoint at the pages' addresses, for scenarios with logs: the simulator's own endpoint, for one service.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '../src/simulator/answer.ts';
import { GeneratedLogs } from '../src/simulator/log-source.ts';
import { createLogsEndpoint } from '../src/simulator/logs-endpoint.ts';
import { corpusServices } from './corpus/services.ts';

const LOGS_PATH = '/observability/v2/logs';
const SEED = 7;

/** Answers requests for logs; false for all others. */
export type AnswerLogs = (request: IncomingMessage, response: ServerResponse) => boolean;

export function createLogServer(): AnswerLogs {
  const endpoint: Endpoint = createLogsEndpoint(new GeneratedLogs(corpusServices(1), SEED));
  return (request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    if (!url.pathname.startsWith(LOGS_PATH)) return false;
    const answer = endpoint({
      method: request.method ?? '',
      path: url.pathname.slice(LOGS_PATH.length).replace(/\/$/, ''),
      query: url.searchParams,
      headers: request.headers,
      json: undefined,
      nowMs: Date.now(),
    });
    if (answer === null) response.writeHead(404, { 'content-length': 0 }).end();
    else response.writeHead(answer.status, answer.headers).end(answer.body);
    return true;
  };
}
