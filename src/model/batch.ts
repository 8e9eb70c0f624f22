// What encode hands to the queue: the points of a tick as one OTLP request, in parts of one service each. A part of either
// kind can be cut out, sent by itself, or put together with others.

/** The signals that prom2otlp sends. */
export const SIGNALS = ['metrics', 'logs'] as const;
export type Signal = (typeof SIGNALS)[number];

/** The bytes of one service within a batch's payload: a valid request by themselves. */
export interface BatchPart {
  readonly service: string;
  /** Data points or log records. */
  readonly points: number;
  readonly offset: number;
  readonly length: number;
}

/** One OTLP export request in protobuf, uncompressed, for one tick. Its parts follow each other without a gap. */
export interface Batch {
  readonly signal: Signal;
  readonly payload: Buffer;
  readonly parts: readonly BatchPart[];
  readonly madeAtMs: number;
}

/** Samples of one service that met one fate (a name of FATE_NAMES, or `bad_line`), for the account. */
export interface SampleCount {
  readonly service: string;
  readonly fate: string;
  readonly count: number;
}
