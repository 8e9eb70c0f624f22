// The standard variables of OpenTelemetry exporters reach the requests of the real program. What each of them sets is
// tested in test/config/otel-variables.test.ts, and what the settings do in test/pipeline/send.

import { expect, onTestFinished, test } from 'vitest';
import type { MetricsRequestJson } from '../../src/pipeline/encode/otlp-fields.ts';
import { BackEnd } from '../support/back-end.ts';
import { otlpPoints } from '../support/otlp-points.ts';
import { run } from '../support/program.ts';
import { useRig } from '../support/rig.ts';
import { expectSane, WireSanity } from '../support/wire-sanity.ts';

const KEY = 'canary-of-the-service';
const TOKEN = 'canary-of-the-back-end';
const rig = useRig(KEY);

test('endpoint, headers, protocol and compression; attributes are not those of the databases', async () => {
  const backEnd = await BackEnd.start();
  onTestFinished(() => backEnd.stop());
  // Without settings for the exporters, so that the variables apply.
  const file = rig.config({
    api: { base_url: rig.simulator.url, key: KEY },
    attributes: { 'deployment.environment.name': 'test' },
    metrics: {},
    otlp: {},
    log: { level: 'silent' },
  });
  const { code, stdout, stderr } = await run(['once', '--config', file], {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${backEnd.url}/otlp/`,
    OTEL_EXPORTER_OTLP_HEADERS: `x-token=${TOKEN},x-tenant=a%2Cb`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
    OTEL_RESOURCE_ATTRIBUTES: 'k8s.pod.name=ours,service.name=ours',
  });
  expect(code, stderr).toBe(0);
  expect(stdout + stderr).not.toContain(TOKEN);
  const [request] = backEnd.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/otlp/v1/metrics' });
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-token': TOKEN,
    'x-tenant': 'a,b',
  });
  expect(request?.headers).not.toHaveProperty('content-encoding');
  const sent = JSON.parse(request?.raw.toString() ?? '') as MetricsRequestJson;
  expectSane(new WireSanity({ mayResend: true }), sent);
  const resources = new Set(otlpPoints(sent).map(({ resource }) => resource));
  expect(resources.size).toBe(rig.simulator.world.services.length);
  for (const resource of resources) {
    expect(resource).toContain('deployment.environment.name=test');
    expect(resource).not.toContain('ours');
  }
});
