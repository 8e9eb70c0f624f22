// The output of `check --probe` for various answers of a service and a back end, and the settings that its hints name.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { verb as check } from '../../src/cli/check.ts';
import { verb as services } from '../../src/cli/services.ts';
import { BackEnd } from '../support/back-end.ts';
import { type HttpTestServer, startHttpServer } from '../support/http-server.ts';
import { useDirectory } from '../support/temporary-directory.ts';
import { callVerb } from '../support/verb-context.ts';

const KEY = 'canary-of-the-key';
const PAGE = 'engine_up{namespace="db1"} 1\nengine_up{namespace="db2"} 1\n';
const directory = useDirectory();
let backEnd: BackEnd;
let service: HttpTestServer;
/** The status of the service's answers by API key; 200 for other keys. */
let statuses: Readonly<Record<string, number>> = {};

beforeAll(async () => {
  backEnd = await BackEnd.start();
  service = await startHttpServer(({ headers, path }, response) => {
    response.statusCode = statuses[String(headers['x-api-key'])] ?? 200;
    const types = JSON.stringify({ logTypes: [{ name: 'evil\u001B[2J' }] });
    response.end(path.includes('/types') ? types : path.includes('/logs') ? '[]' : PAGE);
  });
});
afterEach(() => {
  statuses = {};
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

describe('a hint names what was set', () => {
  test('the reference of the key in the configuration', async () => {
    statuses = { [KEY]: 401, other: 403 };
    const key = `\${file:${directory.write('other', 'other\n')}}`;
    const [code, out] = await probe({ services: [{ id: 'db1' }, { id: 'db2', api: { key } }] });
    expect(code).toBe(1);
    expect(out).toContain('check api.key (${env:KEY})');
    expect(out).toContain(`check api.key (${key})`);
  });

  test('the options of the command line', async () => {
    statuses = { [KEY]: 401 };
    const file = directory.write('key', `${KEY}\n`);
    const environment = { PROM2OTLP_API_KEY: KEY };
    const base = ['--base-url', service.origin];
    const hintOf = async (args: readonly string[]): Promise<string> => {
      const { code, err } = await callVerb(services, args, { environment });
      expect(code).toBe(1);
      expect(err).not.toContain('api.');
      return err;
    };
    expect(await hintOf(base)).toContain('check PROM2OTLP_API_KEY;');
    expect(await hintOf([...base, '--key-file', file])).toContain(`check --key-file ${file};`);
    const wrong = ['--base-url', 'http://127.0.0.1:1'];
    expect(await hintOf(wrong)).toContain('check host and port in --base-url');
  });

  test('the headers and the endpoint of the back end', async () => {
    backEnd.answer = () => ({ status: 401 });
    const { url } = backEnd;
    const check = async (words: string, otlp: object, variables = {}): Promise<void> =>
      expect((await probe({ otlp }, variables))[1]).toContain(words);
    const [none, some] = [{ endpoint: url }, { endpoint: url, headers: { 'x-key': 'abcdefgh' } }];
    await check('check otlp.headers (there are none)\n', none);
    await check('check otlp.headers\n', some);
    const OTEL_EXPORTER_OTLP_HEADERS = 'x-key=abcdefgh';
    await check('check OTEL_EXPORTER_OTLP_HEADERS\n', none, { OTEL_EXPORTER_OTLP_HEADERS });
    backEnd.answer = () => ({ status: 404 });
    await check('check otlp.metrics_endpoint\n', { metrics_endpoint: `${url}/v1/metrics` });
    await check('check OTEL_EXPORTER_OTLP_ENDPOINT', {}, { OTEL_EXPORTER_OTLP_ENDPOINT: url });
    backEnd.answer = () => () => undefined;
    const late = 'no answer: none within 250 ms; raise OTEL_EXPORTER_OTLP_TIMEOUT';
    await check(late, none, { OTEL_EXPORTER_OTLP_TIMEOUT: '250' });
  });
});

test.each<[status: number, code: number, words: string]>([
  [200, 0, 'accepts\n'],
  [400, 1, 'refuses an empty request: the back end answered 400; the path or the key may be wrong'],
  [401, 1, 'refuses the request: the back end answered 401'],
  [404, 1, 'refuses the request: the back end answered 404'],
  [500, 1, 'fails: the back end answered 500'],
  [503, 1, 'is not available now: the back end answered 503'],
])('a back end that answers %i', async (status, code, words) => {
  backEnd.answer = () => ({ status });
  expect(await probe()).toEqual([code, expect.stringContaining(`/v1/metrics: ${words}`)]);
});

test('zstd is tried, and what it saves is said', async () => {
  const seen: string[] = [];
  backEnd.answer = ({ headers }) => {
    seen.push(String(headers['content-encoding']));
    return { status: 200 };
  };
  const [code, out] = await probe();
  expect([code, seen]).toEqual([0, ['gzip', 'zstd']]);
  expect(out).toMatch(
    /compression: gzip; the back end takes zstd, too.*\(otlp.compression: zstd\)/,
  );
  backEnd.answer = ({ headers }) => ({
    status: headers['content-encoding'] === 'zstd' ? 415 : 200,
  });
  const refused = await probe();
  expect(refused[0]).toBe(0);
  expect(refused[1]).toContain('compression: gzip; zstd is not taken: the back end answered 415');
  expect((await probe({ otlp: { endpoint: backEnd.url, compression: 'none' } }))[1]).not.toContain(
    'zstd',
  );
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

test('that the service was not asked is said', async () => {
  const [, out] = await probe({ metrics: { enabled: false } });
  expect(out).toContain('not asked: metrics, logs and backups are off');
});

test('names of the service cannot control the terminal', async () => {
  const [, out] = await probe({ logs: { enabled: true } });
  expect(out).toContain('types evil?[2J');
});
