// The batch that encode passes to the queue: one OTLP request with the points of a tick, in parts of one service each. A
// part can be cut out, sent alone, or merged with others. Log batches have the same form.

/** The signals that prom2otlp sends. */
export const SIGNALS = ['metrics', 'logs'] as const;
export type Signal = (typeof SIGNALS)[number];

/** The service of prom2otlp's own telemetry: its name in the account and of its scope, and the default of service.name. */
export const OWN_SERVICE = 'prom2otlp';

/** The bytes of one service within a batch's payload: a valid request by themselves. */
export interface BatchPart {
  readonly service: string;
  /** Data points or log records. */
  readonly points: number;
  readonly offset: number;
  readonly length: number;
}

/** One OTLP export request in protobuf, uncompressed. Its parts are contiguous. */
export interface Batch {
  readonly signal: Signal;
  readonly payload: Buffer;
  readonly parts: readonly BatchPart[];
  readonly madeAtMs: number;
}

/** A batch with the data of one service. */
export function batchOf(service: string, points: number, batch: Omit<Batch, 'parts'>): Batch {
  const part = { service, points, offset: 0, length: batch.payload.length };
  return { ...batch, parts: [part] };
}

/** Samples of one service with the same outcome (a name of OUTCOME_NAMES, or `bad_line`), for the account. */
export interface SampleCount {
  readonly service: string;
  readonly outcome: string;
  readonly count: number;
}
