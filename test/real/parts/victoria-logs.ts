// A real single-node VictoriaLogs, built from its module: a log store that takes OTLP and can be queried.

import { join } from 'node:path';
import { checkoutFolder, runFolder } from '../support/folder.ts';
import { goBuild } from '../support/go-build.ts';
import { need, type Part, type Running } from '../support/part.ts';
import { freePort, isUp, startServer } from '../support/process.ts';

export interface VictoriaLogsRunning extends Running {
  /** The value for a Collector's `otlphttp` exporter, or for `otlp.logs_endpoint` with `/v1/logs`. */
  readonly otlpUrl: string;
  /** The records that a LogsQL query finds, with all their fields, including what just arrived. */
  find(query: string): Promise<readonly Readonly<Record<string, string>>[]>;
}

export const victoriaLogs: Part<object, VictoriaLogsRunning> = {
  name: 'victoria-logs',
  prepare: () =>
    goBuild({
      name: 'victoria-logs',
      moduleFolder: join(checkoutFolder, 'test/real/go-logs'),
      package: 'github.com/VictoriaMetrics/VictoriaLogs/app/victoria-logs',
      versionOf: 'github.com/VictoriaMetrics/VictoriaLogs',
      sources: [],
    }),
  start: startVictoriaLogs,
};

async function startVictoriaLogs(): Promise<VictoriaLogsRunning> {
  const { path } = await need(victoriaLogs);
  const folder = await runFolder('victoria-logs');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    name: 'victoria-logs',
    command: path,
    args: [
      `-httpListenAddr=127.0.0.1:${port}`,
      `-storageDataPath=${join(folder, 'data')}`,
      '-memory.allowedBytes=256MB',
    ],
    folder,
    isReady: () => isUp(`${url}/health`),
  });
  return {
    otlpUrl: `${url}/insert/opentelemetry`,
    find: query => find(url, query),
    stop: () => server.stop(),
  };
}

async function find(
  url: string,
  query: string,
): Promise<readonly Readonly<Record<string, string>>[]> {
  if (!(await isUp(`${url}/internal/force_flush`))) throw new Error('cannot flush');
  const parameters = new URLSearchParams({ query });
  const answer = await fetch(`${url}/select/logsql/query?${parameters.toString()}`);
  if (!answer.ok) throw new Error(`cannot query ${query}: ${answer.status}`);
  const lines = (await answer.text()).split('\n').filter(line => line !== '');
  return lines.map(line => JSON.parse(line) as Record<string, string>);
}
