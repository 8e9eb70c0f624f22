// The standard variables of OpenTelemetry exporters, each checked by the requests that the real program sends.

import type { ServerOptions } from 'node:https';
import { ServerCredentials } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { MetricsRequestJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { BackEnd } from '../support/back-end.ts';
import { SECOND_CA, TEST_CLIENT, TEST_TLS } from '../support/certificates.ts';
import { GrpcBackEnd } from '../support/grpc-back-end.ts';
import { otlpPoints, type OtlpPoint } from '../support/otlp-points.ts';
import { oracleDecodeMetrics } from '../reference/oracle.ts';
import { type Finished, run } from '../support/program.ts';
import { useRig } from '../support/rig.ts';
import { expectSane, WireSanity } from '../support/wire-sanity.ts';

const KEY = 'canary-of-the-service';
const TOKEN = 'canary-of-the-back-end';
const rig = useRig(KEY);
const { directory } = rig;

/** A configuration without settings for the exporters, so that the variables apply. */
function config(changes: Record<string, unknown> = {}): string {
  const api = { base_url: rig.simulator.url, key: KEY };
  return rig.config({ api, metrics: {}, otlp: {}, log: { level: 'silent' }, ...changes });
}

type Variables = Readonly<Record<string, string>>;

/** Adds the prefix `OTEL_EXPORTER_OTLP_` to the names. */
function variables(short: Variables): Variables {
  return Object.fromEntries(
    Object.entries(short).map(([name, value]) => [`OTEL_EXPORTER_OTLP_${name}`, value]),
  );
}

function once(short: Variables): Promise<Finished> {
  return run(['once', '--config', config()], variables(short));
}

async function startHttp(tls?: ServerOptions): Promise<BackEnd> {
  const backEnd = await BackEnd.start(undefined, tls);
  onTestFinished(async () => {
    await backEnd.stop();
    const metrics = backEnd.requests.filter(({ path }) => !path.includes('logs'));
    expectAllSane(
      metrics.map(({ raw, headers }) =>
        headers['content-type'] === 'application/json'
          ? (JSON.parse(raw.toString()) as MetricsRequestJson)
          : oracleDecodeMetrics(raw),
      ),
    );
  });
  return backEnd;
}

async function startGrpc(credentials?: ServerCredentials): Promise<GrpcBackEnd> {
  const backEnd = await GrpcBackEnd.start(credentials);
  onTestFinished(async () => {
    await backEnd.stop();
    const metrics = backEnd.requests.filter(({ signal }) => signal === 'metrics');
    expectAllSane(metrics.map(({ bytes }) => oracleDecodeMetrics(bytes)));
  });
  return backEnd;
}

function expectAllSane(requests: readonly MetricsRequestJson[]): void {
  const sanity = new WireSanity({ mayResend: true });
  for (const request of requests) expectSane(sanity, request);
}

function points(bytes: Buffer = Buffer.alloc(0)): readonly OtlpPoint[] {
  return otlpPoints(oracleDecodeMetrics(bytes));
}

function expectWhole(bytes: Buffer | undefined): void {
  expect(new Set(points(bytes).map(({ metric }) => metric)).size).toBe(191);
}

describe('over HTTP', () => {
  test('endpoint, headers, protocol and compression', async () => {
    const backEnd = await startHttp();
    const { code, stdout, stderr } = await once({
      ENDPOINT: `${backEnd.url}/otlp/`,
      HEADERS: `x-token=${TOKEN},x-tenant=a%2Cb`,
      PROTOCOL: 'http/json',
      COMPRESSION: 'none',
    });
    expect(code, stderr).toBe(0);
    const [request] = backEnd.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/otlp/v1/metrics' });
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-token': TOKEN,
      'x-tenant': 'a,b',
    });
    expect(request?.headers).not.toHaveProperty('content-encoding');
    expect(JSON.parse(request?.raw.toString() ?? '')).toHaveProperty('resourceMetrics');
    expect(stdout + stderr).not.toContain(TOKEN);
  });

  test('variables for metrics beat the general ones, and their endpoint is used unchanged', async () => {
    const [general, own] = [await startHttp(), await startHttp()];
    const { code } = await once({
      ENDPOINT: general.url,
      HEADERS: 'x-token=general',
      METRICS_ENDPOINT: `${own.url}/mine?a=b`,
      METRICS_HEADERS: 'x-token=own',
      METRICS_COMPRESSION: 'zstd',
    });
    expect(code).toBe(0);
    expect(general.requests).toEqual([]);
    const [request] = own.requests;
    expect(request).toMatchObject({ path: '/mine?a=b' });
    expect(request?.headers).toMatchObject({ 'x-token': 'own', 'content-encoding': 'zstd' });
    expectWhole(request?.raw);
  });

  test('metrics and logs may go to different places in different protocols', async () => {
    const [metrics, logs] = [await startHttp(), await startGrpc()];
    const both = variables({
      METRICS_ENDPOINT: `${metrics.url}/m`,
      LOGS_ENDPOINT: logs.url,
      LOGS_PROTOCOL: 'grpc',
      LOGS_HEADERS: 'x-token=logs',
    });
    const file = config({ logs: { enabled: true } });
    const { code, stdout } = await run(['check', '--probe', '--config', file], both);
    expect(code, stdout).toBe(0);
    // gzip, and zstd on trial.
    expect(metrics.requests.map(({ path }) => path)).toEqual(['/m', '/m']);
    expect(logs.requests.map(({ signal }) => signal)).toEqual(['logs']);
    expect(logs.requests[0]?.metadata).toMatchObject({ 'x-token': 'logs' });
  });

  test('attributes are not those of the databases, which have their own', async () => {
    const backEnd = await startHttp();
    const file = config({ attributes: { 'deployment.environment.name': 'test' } });
    const { code } = await run(['once', '--config', file], {
      OTEL_RESOURCE_ATTRIBUTES: 'k8s.pod.name=ours,service.name=ours',
      OTEL_EXPORTER_OTLP_ENDPOINT: backEnd.url,
    });
    expect(code).toBe(0);
    const [request] = backEnd.requests;
    const resources = new Set(points(request?.raw).map(({ resource }) => resource));
    expect(resources.size).toBe(rig.simulator.world.services.length);
    for (const resource of resources) {
      expect(resource).toContain('deployment.environment.name=test');
      expect(resource).not.toContain('ours');
    }
  });
});

describe('with TLS', () => {
  const files = {
    CERTIFICATE: directory.write('ca.pem', TEST_TLS.ca),
    CLIENT_CERTIFICATE: directory.write('client.pem', TEST_CLIENT.cert),
    CLIENT_KEY: directory.write('client.key', TEST_CLIENT.key),
  };
  const mutual = { ...TEST_TLS, ca: SECOND_CA, requestCert: true, rejectUnauthorized: true };

  test('certificate, client certificate and client key, over HTTP', async () => {
    const backEnd = await startHttp(mutual);
    const url = `https://localhost:${String(backEnd.port)}`;
    expect(await once({ ENDPOINT: url, ...files })).toMatchObject({ code: 0 });
    expect(backEnd.requests.map(({ isCertified }) => isCertified)).toEqual([true]);
    expectWhole(backEnd.requests[0]?.raw);
  });

  test('the same over gRPC', async () => {
    const pair = { cert_chain: Buffer.from(TEST_TLS.cert), private_key: Buffer.from(TEST_TLS.key) };
    const credentials = ServerCredentials.createSsl(Buffer.from(SECOND_CA), [pair], true);
    const backEnd = await startGrpc(credentials);
    const url = `https://localhost:${String(backEnd.port)}`;
    const HEADERS = `x-token=${TOKEN}`;
    const result = await once({ ENDPOINT: url, PROTOCOL: 'grpc', HEADERS, ...files });
    expect(result, result.stderr).toMatchObject({ code: 0 });
    expect(backEnd.requests.map(({ signal }) => signal)).toEqual(['metrics']);
    expect(backEnd.requests[0]?.metadata).toMatchObject({ 'x-token': TOKEN });
    expectWhole(backEnd.requests[0]?.bytes);
  });
});
