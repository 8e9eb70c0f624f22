// The refusals of a real Collector over gRPC: the sender understands its limits and its settings.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { OtlpSignalConfig } from '../../src/config/config.ts';
import { ConfigSecret } from '../../src/config/secrets.ts';
import type { Signal } from '../../src/model/batch.ts';
import { OtlpGrpc } from '../../src/pipeline/send/otlp-grpc.ts';
import type { SendResult } from '../../src/pipeline/send/transport.ts';
import { SECOND_CA, TEST_CLIENT, TEST_TLS } from '../support/certificates.ts';
import { metricsBytes } from '../support/otlp-requests.ts';
import { NO_TLS, testEndpoint } from '../support/test-api.ts';
import { collector } from './parts/collector.ts';
import { runFolder } from './support/folder.ts';
import { reasonToSkip } from './support/part.ts';

const noCollector = await reasonToSkip([collector]);

/** A Collector that takes metrics over gRPC, with further settings of its receiver. */
async function startCollector(grpc: object): Promise<URL> {
  const running = await collector.start({
    configure: ({ receivers: { otlp }, service }) => {
      Object.assign(otlp.protocols.grpc, grpc);
      service.pipelines = { metrics: { receivers: ['otlp'], exporters: ['file'] } };
    },
  });
  onTestFinished(() => running.stop());
  return new URL(running.grpcUrl);
}

async function send(
  endpoint: string,
  options: { signal?: Signal; bytes?: Buffer; tls?: OtlpSignalConfig['tls'] } = {},
): Promise<SendResult> {
  const { signal = 'metrics', bytes = metricsBytes('a', 3), tls = NO_TLS } = options;
  const transport = new OtlpGrpc(
    testEndpoint(endpoint, { protocol: 'grpc', timeoutMs: 10_000, tls }),
  );
  const request = { signal, encoding: 'none', body: bytes, rawBytes: bytes.length } as const;
  const result = await transport.send(request, new AbortController().signal);
  await transport.close();
  return result;
}

describe.skipIf(noCollector !== null)('a Collector over gRPC', () => {
  test('refuses a message over its limit, which is split', async () => {
    const { href } = await startCollector({ max_recv_msg_size_mib: 1 });
    expect(await send(href)).toMatchObject({ kind: 'accepted' });
    const bytes = metricsBytes('a', 100_000);
    const reason = expect.stringMatching(/RESOURCE_EXHAUSTED: .*larger than max/);
    expect(await send(href, { bytes })).toMatchObject({ kind: 'too_large', reason });
  });

  test('has no service for a signal that it does not accept, which is held', async () => {
    const { href } = await startCollector({ max_recv_msg_size_mib: 4 });
    const reason = expect.stringMatching(/UNIMPLEMENTED: .*; check otlp.endpoint/);
    expect(await send(href, { signal: 'logs' })).toMatchObject({ kind: 'settings', reason });
  });

  test('refuses bytes that are not a request, which are split or held', async () => {
    const { href } = await startCollector({ max_recv_msg_size_mib: 4 });
    const result = await send(href, { bytes: Buffer.from('not a request') });
    expect(['refused', 'too_large', 'unknown']).toContain(result.kind);
  });

  test('asks for a client certificate, and gets it', async () => {
    const folder = await runFolder('grpc-tls');
    const file = async (name: string, text: string): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, text);
      return path;
    };
    const settings = {
      cert_file: await file('server.pem', TEST_TLS.cert),
      key_file: await file('server.key', TEST_TLS.key),
      client_ca_file: await file('clients.pem', SECOND_CA),
    };
    const { port } = await startCollector({ tls: settings });
    const endpoint = `https://localhost:${port}`;
    const { ca } = TEST_TLS;
    const tls = { ca, cert: TEST_CLIENT.cert, key: new ConfigSecret(TEST_CLIENT.key) };
    expect(await send(endpoint, { tls })).toMatchObject({ kind: 'accepted' });
    const refused = await send(endpoint, { tls: { ...NO_TLS, ca } });
    expect(refused).toMatchObject({
      kind: 'retry',
      reason: expect.stringMatching(/^no answer: .*otlp\.tls\.cert/),
    });
  });
});
