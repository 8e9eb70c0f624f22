// What most likely is wrong when a back end does not accept the probe, by its address and its answer.

import { profileOf } from '../config/back-ends.ts';
import type { OtlpSignalConfig } from '../config/config.ts';
import { isLoopbackHost } from '../lib/loopback.ts';

const REFUSED = /^the back end answered (?:401|403|UNAUTHENTICATED|PERMISSION_DENIED)/;

/** Sentences without a full stop; none where the reason says enough. */
export function likelyMistakes(
  { endpoint, protocol }: Pick<OtlpSignalConfig, 'endpoint' | 'protocol'>,
  reason: string,
  backend: string | null,
): readonly string[] {
  const { port, protocol: scheme, pathname, hostname } = new URL(endpoint);
  const found: string[] = [];
  const isRefused = REFUSED.test(reason);
  if (protocol !== 'grpc' && port === '4317')
    found.push('port 4317 is usually for gRPC: use 4318, or `otlp.protocol: grpc`');
  if (protocol === 'grpc' && port === '4318')
    found.push('port 4318 is usually for HTTP: use 4317, or `otlp.protocol: http/protobuf`');
  if (/(\/v1\/(?:metrics|logs))\1$/.test(pathname))
    found.push(
      `the path ends twice in ${/\/v1\/\w+$/.exec(pathname)?.[0] ?? ''}: remove it from otlp.endpoint`,
    );
  if (scheme === 'http:' && !isLoopbackHost(hostname))
    found.push('plain http to another machine: most such back ends want https');
  if (isRefused) {
    const needs = profileOf(backend)?.needs.filter(({ signal }) => signal === undefined) ?? [];
    const what = needs.map(need => need.what).join(', ') || 'the token';
    found.push(`${what} may be missing, wrong, without the right to write, or of another region`);
  }
  return found;
}
