// Small OTLP requests for tests of the queue and the sender, encoded by the oracle. Also a flat view of a request: one
// text per point with its Resource, scope and metric, so that pieces can be compared with the whole.

import type { Batch, BatchPart, Signal } from '../../src/model/batch.ts';
import type { Settlement } from '../../src/pipeline/queue/commit.ts';
import type { LogsRequestJson, MetricsRequestJson } from '../../src/pipeline/encode/otlp-fields.ts';
import {
  oracleDecodeLogs,
  oracleDecodeMetrics,
  oracleEncodeLogs,
  oracleEncodeMetrics,
} from '../reference/oracle.ts';

/** A gauge with `pointCount` points, whose values are 1, 2, 3 …; one Resource per service. */
export function metricsBytes(
  service: string,
  pointCount: number,
  name = 'g',
  timeUnixNano = '1',
): Buffer {
  const dataPoints = Array.from({ length: pointCount }, (_, i) => ({
    timeUnixNano,
    asDouble: i + 1,
  }));
  return oracleEncodeMetrics({
    resourceMetrics: [
      {
        resource: { attributes: [{ key: 'service', value: { stringValue: service } }] },
        scopeMetrics: [{ scope: { name: 's' }, metrics: [{ name, gauge: { dataPoints } }] }],
      },
    ],
  });
}

/** Log records with the given bodies. */
export function logsBytes(service: string, bodies: readonly string[]): Buffer {
  const logRecords = bodies.map(stringValue => ({ body: { stringValue } }));
  return oracleEncodeLogs({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'service', value: { stringValue: service } }] },
        scopeLogs: [{ logRecords }],
      },
    ],
  });
}

/** A batch of metrics: services with their number of points. */
export function metricsBatch(services: Readonly<Record<string, number>>, madeAtMs: number): Batch {
  const parts = Object.entries(services).map(([service, points]) => ({
    service,
    points,
    bytes: metricsBytes(service, points),
  }));
  return batchOf('metrics', parts, madeAtMs);
}

export function logsBatch(service: string, bodies: readonly string[], madeAtMs: number): Batch {
  const parts = [{ service, points: bodies.length, bytes: logsBytes(service, bodies) }];
  return batchOf('logs', parts, madeAtMs);
}

export function batchOf(
  signal: Signal,
  slices: readonly { service: string; points: number; bytes: Buffer }[],
  madeAtMs: number,
): Batch {
  let offset = 0;
  const parts = slices.map(({ service, points, bytes }) => {
    const part = { service, points, offset, length: bytes.length };
    offset += bytes.length;
    return part;
  });
  return { signal, payload: Buffer.concat(slices.map(slice => slice.bytes)), parts, madeAtMs };
}

/** Accepts all points of these parts, except `left` points of the last part. */
export function allAccepted(parts: readonly BatchPart[], left = 0): Settlement[] {
  return parts.map(({ service, points }, i) => ({
    service,
    accepted: i === parts.length - 1 ? points - left : points,
    rejected: 0,
    setAside: 0,
  }));
}

/** Finds a point of `flatPoints` with this value. */
export const hasValue =
  (value: number) =>
  (point: string): boolean =>
    point.includes(`"asDouble":${value}}`);

/** Every point or record with its Resource, scope and metric, as JSON, in order. */
export function flatPoints(signal: Signal, bytes: Buffer): readonly string[] {
  return signal === 'metrics'
    ? flatMetrics(oracleDecodeMetrics(bytes))
    : flatLogs(oracleDecodeLogs(bytes));
}

function flatMetrics(request: MetricsRequestJson): string[] {
  return (request.resourceMetrics ?? []).flatMap(({ scopeMetrics = [], ...resource }) =>
    scopeMetrics.flatMap(({ metrics = [], ...scope }) =>
      metrics.flatMap(metric =>
        Object.entries(metric).flatMap(([kind, data]) => {
          if (typeof data !== 'object' || !('dataPoints' in data)) return [];
          const { dataPoints = [], ...rest } = data as { dataPoints?: readonly unknown[] };
          const around = { resource, scope, metric: { ...metric, [kind]: rest } };
          return dataPoints.map(point => JSON.stringify({ ...around, point }));
        }),
      ),
    ),
  );
}

function flatLogs(request: LogsRequestJson): string[] {
  return (request.resourceLogs ?? []).flatMap(({ scopeLogs = [], ...resource }) =>
    scopeLogs.flatMap(({ logRecords = [], ...scope }) =>
      logRecords.map(record => JSON.stringify({ resource, scope, record })),
    ),
  );
}
