// From a slow query to its trace: a real MariaDB, whose clients add comments to their statements, writes its slow query
// log; prom2otlp pulls it and sends it to a real Collector; there the record is found by its trace id.

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LogRecordJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { zip } from '../../src/simulator/zip.ts';
import { startHttpServer } from '../support/http-server.ts';
import { otlpLogs } from '../support/otlp-points.ts';
import { run, tempDirectory } from '../support/program.ts';
import { collector, readRequests } from './parts/collector.ts';
import { mariadb } from './parts/mariadb.ts';
import { reasonToSkip } from './support/part.ts';

const noParts = await reasonToSkip([mariadb, collector]);
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
  let records: readonly LogRecordJson[] = [];
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
    const back = await collector.start({});
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
    await back.stop();
    records = (await readRequests(back.output)).flatMap(otlpLogs).map(({ record }) => record);
  });

  test('each is found by its trace id', () => {
    expect(STATEMENTS.length).toBe(5);
    for (const n of STATEMENTS.keys()) {
      const found = records.filter(({ traceId }) => traceId === id('a', n + 1));
      expect(found.length, `statement ${n}`).toBe(1);
      const [record] = found;
      expect(record).toMatchObject({ spanId: id('b', n + 1).slice(-16), flags: 1 });
      expect(record?.body?.stringValue).toContain('sleep(?)');
      expect(record?.attributes).toContainEqual({
        key: 'prom2otlp.query.db_driver',
        value: { stringValue: 'a b' },
      });
    }
    expect(records.filter(({ traceId }) => traceId === id('a', 99))).toEqual([]);
    expect(JSON.stringify(records.map(({ body }) => body))).not.toContain('traceparent');
  });
});
