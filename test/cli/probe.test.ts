// `check --probe` where it takes a back end that is slow or speaks, or a hostile service; all else is in
// test/transcripts/check.

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { verb as check } from '../../src/cli/check.ts';
import { BackEnd } from '../support/back-end.ts';
import { type HttpTestServer, startHttpServer } from '../support/http-server.ts';
import { useDirectory } from '../support/temporary-directory.ts';
import { callVerb } from '../support/verb-context.ts';

const KEY = 'canary-of-the-key';
const PAGE = 'engine_up{namespace="db1"} 1\nengine_up{namespace="db2"} 1\n';
const directory = useDirectory();
let backEnd: BackEnd;
let service: HttpTestServer;

beforeAll(async () => {
  backEnd = await BackEnd.start();
  service = await startHttpServer(({ path }, response) => {
    const types = JSON.stringify({ logTypes: [{ name: 'evil\u001B[2J' }] });
    response.end(path.includes('/types') ? types : path.includes('/logs') ? '[]' : PAGE);
  });
});
afterEach(() => {
  backEnd.answer = () => ({ status: 200 });
});
afterAll(async () => {
  await backEnd.stop();
  await service[Symbol.asyncDispose]();
});

/** The exit code, and all that is printed. */
async function probe(
  changes: object = {},
  variables: Readonly<Record<string, string>> = {},
): Promise<readonly [code: number | null, printed: string]> {
  const config = {
    api: { base_url: service.origin, key: '${env:KEY}' },
    services: [{ id: 'db1' }],
    queue: { directory: null },
    otlp: { endpoint: backEnd.url },
    ...changes,
  };
  const file = directory.write('c.yaml', JSON.stringify(config));
  const environment = { KEY, ...variables };
  const { code, out, err } = await callVerb(check, ['-c', file, '--probe'], { environment });
  expect(out + err).not.toContain(KEY);
  return [code, out];
}

test('a hint names the variable that limits how long a back end may take', async () => {
  backEnd.answer = () => () => undefined;
  const late = 'no answer: none within 250 ms; raise OTEL_EXPORTER_OTLP_TIMEOUT';
  const [, out] = await probe({}, { OTEL_EXPORTER_OTLP_TIMEOUT: '250' });
  expect(out).toContain(late);
});

test('the words of a back end that accepts are shown', async () => {
  const body = JSON.stringify({ partialSuccess: { errorMessage: 'quota is low' } });
  const headers = { 'content-type': 'application/json' };
  backEnd.answer = () => ({ status: 200, headers, body });
  expect(await probe()).toEqual([0, expect.stringContaining('accepts, and says: quota is low\n')]);
});

test('a service that another poll has is configured', async () => {
  const others = [{ id: 'db1' }, { id: 'db2', api: { key: 'other' } }];
  const [code, out] = await probe({ services: others });
  expect([code, out.includes('not configured')]).toEqual([0, false]);
  expect((await probe())[1]).toContain('on the page but not configured: db2');
});

test('names of the service cannot control the terminal', async () => {
  const [, out] = await probe({ logs: { enabled: true } });
  expect(out).toContain('types evil?[2J');
});
