// Reads the log records that a Collector wrote to its file as OTLP/JSON. Shares nothing with the program's encoder. The
// value of an attribute is as the Collector has it, with its kind: `int 75`, `string shop`.

import type { KeyValueJson } from '../../../src/pipeline/encode/otlp-fields.ts';
import { otlpLogs } from '../../support/otlp-points.ts';
import { readRequests } from '../parts/collector.ts';

export interface ReceivedLog {
  readonly resource: Readonly<Record<string, string>>;
  readonly scope: string;
  readonly timeUnixNano: string;
  readonly observedTimeUnixNano: string;
  readonly severityNumber: number;
  readonly severityText: string;
  readonly eventName: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** All log records of the file, in the order in which they were accepted. */
export async function readReceivedLogs(file: string): Promise<ReceivedLog[]> {
  const logs = (await readRequests(file)).flatMap(otlpLogs);
  return logs.map(({ resource, scope, record }) => ({
    resource: kindsOf(resource),
    scope,
    timeUnixNano: record.timeUnixNano ?? '',
    observedTimeUnixNano: record.observedTimeUnixNano ?? '',
    severityNumber: record.severityNumber ?? 0,
    severityText: record.severityText ?? '',
    eventName: record.eventName ?? '',
    body: record.body?.stringValue ?? '',
    attributes: kindsOf(record.attributes),
  }));
}

function kindsOf(attributes: readonly KeyValueJson[] = []): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key = '', value = {} }) => {
      const [[kind, content] = ['none', '']] = Object.entries<unknown>(value);
      return [key, `${kind.replace('Value', '')} ${String(content)}`];
    }),
  );
}
