// From a slow query to its trace: a real MariaDB, whose clients add comments to their statements, writes its slow query
// log; prom2otlp pulls it; a real Collector takes it to a real VictoriaLogs, where the record is found by its trace id.

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { zip } from '../../src/simulator/logs-endpoint.ts';
import { startHttpServer } from '../support/http-server.ts';
import { run, tempDirectory, until } from '../support/program.ts';
import { collector } from './parts/collector.ts';
import { mariadb } from './parts/mariadb.ts';
import { victoriaLogs, type VictoriaLogsRunning } from './parts/victoria-logs.ts';
import { reasonToSkip } from './support/part.ts';

const noParts = await reasonToSkip([mariadb, collector, victoriaLogs]);
const SERVICE = 'dbtrace01';
/** An open record is sent with the second pull after it that finds nothing new. */
const PULLS = 3;

const id = (letter: string, n: number): string => letter.repeat(24) + String(n).padStart(8, '0');
const parentOf = (n: number): string => `00-${id('a', n)}-${id('b', n).slice(-16)}-01`;

/** Statements that take longer than 50 ms, each with the comment of its own span. */
const STATEMENTS: readonly ((comment: string) => string)[] = [
  comment => `select sleep(0.06), 'it''s a "literal"' ${comment};`,
  comment => `${comment} select sleep(0.06);`,
  comment => `select\n  sleep(0.06)\n  ${comment}\n  as waited;`,
  comment => `select sleep(0.06), 'not /*traceparent=\\'${parentOf(99)}\\'*/' ${comment};`,
  comment => `execute immediate 'select sleep(?) ${comment.replaceAll("'", "''")}' using 0.06;`,
];

describe.skipIf(noParts !== null)('a slow query in a real log store', () => {
  let store: VictoriaLogsRunning;
  const cleanUp = new AsyncDisposableStack();
  afterAll(() => cleanUp.disposeAsync());

  beforeAll(async () => {
    const server = await mariadb.start({ isLoaded: false });
    cleanUp.defer(() => server.stop());
    for (const [n, statement] of STATEMENTS.entries())
      await server.sql(statement(`/*db_driver='a%20b',traceparent='${parentOf(n + 1)}'*/`));
    const text = await readFile(server.slowLog);

    const item = {
      id: 'slow-1',
      name: 'slow.log',
      logType: 'slow-query-log',
      server: `${SERVICE}-0`,
      service: SERVICE,
      size: text.length,
      startTime: new Date().toISOString(),
    };
    const api = cleanUp.use(
      await startHttpServer(({ path }, response) => {
        const [where = ''] = path.split('?');
        if (where.endsWith('/metrics')) response.end(`engine_up{namespace="${SERVICE}"} 1\n`);
        else if (where.endsWith('/archive')) response.end(zip([{ name: 'slow.log', bytes: text }]));
        else
          response
            .setHeader('content-type', 'application/json')
            .end(JSON.stringify({ count: 1, logs: [item] }));
      }),
    );
    store = await victoriaLogs.start({});
    cleanUp.defer(() => store.stop());
    const back = await collector.start({
      configure: ({ exporters, service }) => {
        Object.assign(exporters, { otlphttp: { logs_endpoint: `${store.otlpUrl}/v1/logs` } });
        const logs = { receivers: ['otlp'], exporters: ['otlphttp'] };
        service.pipelines = { ...service.pipelines, logs };
      },
    });
    cleanUp.defer(() => back.stop());
    const files = cleanUp.use(tempDirectory());
    const config = files.write(
      'prom2otlp.yaml',
      JSON.stringify({
        api: { base_url: api.origin, key: 'k' },
        services: [{ id: SERVICE }],
        logs: {
          enabled: true,
          types: ['slow-query-log'],
          slow_query: { comment_keys: ['db_driver'] },
        },
        otlp: { endpoint: back.httpUrl },
        queue: { directory: `${files.path}/queue` },
      }),
    );
    for (let pull = 0; pull < PULLS; pull++) {
      const { code, stdout, stderr } = await run(['once', '--config', config]);
      expect(code, stdout + stderr).toBe(0);
    }
    await until('all records', async () => (await store.find('*')).length >= STATEMENTS.length);
  });

  test('each is found by its trace id', async () => {
    expect(STATEMENTS.length).toBe(5);
    for (const n of STATEMENTS.keys()) {
      const found = await store.find(`trace_id:${id('a', n + 1)}`);
      expect(found.length, `statement ${n}`).toBe(1);
      expect(found[0]).toMatchObject({
        span_id: id('b', n + 1).slice(-16),
        'prom2otlp.query.db_driver': 'a b',
        'service.instance.id': SERVICE,
      });
      expect(found[0]?.['_msg']).toContain('sleep(?)');
    }
    expect(await store.find(`trace_id:${id('a', 99)}`)).toEqual([]);
    expect(JSON.stringify(await store.find('*'))).not.toContain('traceparent');
  });
});
