// The failures of a probe. Those of one origin, with one reason and one remedy, have one cause, as on the status page:
// it is one line, however many services and parts it hits.

import type { TextSink } from './verb.ts';
import { profileOf } from '../config/back-ends.ts';
import type { OtlpSignalConfig } from '../config/config.ts';
import { isLoopbackHost } from '../lib/loopback.ts';

/** A part of the service that was asked, in the order of the line. */
const PARTS = ['metrics', 'types of logs', 'servers of logs', 'logs', 'backups'] as const;
export type Part = (typeof PARTS)[number];

export interface Failure {
  readonly part: Part;
  /** The target: its host and its services. */
  readonly who: string;
  readonly origin: string;
  /** One word, such as `auth`. */
  readonly reason: string;
  readonly hint: string;
  readonly message: string;
  /** The failure as one sentence with its remedy. */
  readonly line: string;
}

/** Further names are only counted. */
const NAMES_MAX = 10;

export class ProbeCauses {
  readonly #failures: Failure[] = [];

  add(failure: Failure): void {
    this.#failures.push(failure);
  }

  print(out: TextSink): void {
    const causes = Map.groupBy(this.#failures, causeOf);
    for (const group of causes.values()) {
      const parts = PARTS.filter(part => group.some(one => one.part === part));
      const who = listOf([...new Set(group.map(one => one.who))]);
      // Metrics are what a target is about.
      const what = parts.join() === 'metrics' ? '' : `${listOf(parts)} of `;
      out.line(`service  ${what}${who}: ${group[0]?.line ?? ''}`);
    }
  }
}

function causeOf({ origin, reason, hint, message }: Failure): string {
  // Each wrong path is a mistake of its own.
  return JSON.stringify([origin, reason, hint, reason === 'not_found' ? message : '']);
}

/** `a, b and c`; beyond NAMES_MAX `a, b, … and 3 more`. */
export function listOf(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX);
  const rest = names.length - shown.length;
  const last = rest > 0 ? `${rest} more` : shown.pop();
  return shown.length === 0 ? (last ?? '') : `${shown.join(', ')} and ${last ?? ''}`;
}

// What most likely is wrong when a back end does not accept the probe, by its address and its answer.

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
