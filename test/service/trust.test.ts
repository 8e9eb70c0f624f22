// Which authorities are trusted, and how long a connection may take.

import net from 'node:net';
import tls from 'node:tls';
import { expect, test, vi } from 'vitest';
import { contextFor } from '../../src/service/trust.ts';
import {
  BELOW_INTERMEDIATE,
  INTERMEDIATE_CA,
  SECOND_CA,
  TEST_CLIENT,
  TEST_TLS,
} from '../support/certificates.ts';
import { startHttpServer } from '../support/http-server.ts';
import { openHttp } from '../support/service-client.ts';

const METRICS = { accept: 'text/plain', part: 'metrics' } as const;

test('an intermediate authority without its issuer is enough', async () => {
  await using server = await startHttpServer((_request, response) => void response.end('ok'), {
    tls: BELOW_INTERMEDIATE,
  });
  await using opened = openHttp(server.origin, { ca: INTERMEDIATE_CA });
  const result = await opened.http.get('/', METRICS);
  expect(result.ok || result.error.message).toBe(true);
  await using other = openHttp(server.origin, { ca: SECOND_CA });
  const refused = await other.http.get('/', METRICS);
  expect(refused.ok || refused.error.reason).toBe('tls');
});

test('connections share a context, but not one with a certificate of the client', () => {
  expect(contextFor({ ca: null })).toBe(contextFor({ ca: null }));
  expect(contextFor({ ca: TEST_TLS.ca })).toBe(contextFor({ ca: TEST_TLS.ca, pair: null }));
  expect(contextFor({ ca: TEST_TLS.ca })).not.toBe(contextFor({ ca: null }));
  const own = { ca: TEST_TLS.ca, pair: TEST_CLIENT };
  expect(contextFor(own)).not.toBe(contextFor(own));
});

test.each(['http', 'https'])(
  'each address of a host gets half of the timeout: %s',
  async scheme => {
    const isTls = scheme === 'https';
    await using server = await startHttpServer((_request, response) => void response.end('ok'), {
      isTls,
    });
    const connect = isTls ? vi.spyOn(tls, 'connect') : vi.spyOn(net, 'connect');
    await using opened = openHttp(server.origin, { timeoutMs: 8000, ca: TEST_TLS.ca });
    const result = await opened.http.get('/', METRICS);
    expect(result.ok).toBe(true);
    // Other tests share the module, and may connect at the same time.
    const { port } = new URL(server.origin);
    const own = connect.mock.calls.flatMap(([options]) =>
      typeof options === 'object' && String((options as { port?: unknown }).port) === port
        ? [options]
        : [],
    );
    expect(own).toEqual([expect.objectContaining({ autoSelectFamilyAttemptTimeout: 4000 })]);
    connect.mockRestore();
  },
);
