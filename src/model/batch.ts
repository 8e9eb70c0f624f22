// What encode hands to the queue: the points of a tick as one OTLP request, in parts of one service each. A part of either
// kind can be cut out, sent by itself, or put together with others.

/** One signal's OTLP. */
export type Signal = 'metrics' | 'logs';

/** The bytes of one service within a batch's payload: a valid request by themselves. */
export interface BatchPart {
  readonly service: string;
  /** Data points or log records. */
  readonly points: number;
  readonly offset: number;
  readonly length: number;
}

/** One OTLP export request in protobuf, uncompressed, for one tick. Parts stand back to back. */
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
