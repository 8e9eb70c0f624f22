// How one simulated series moves: a few kinds, each a pure function of the server's moment and the series'
// own hash. A counter starts at zero with its process, so that a restart shows as a fall of the value.

import { noise, noiseSeconds } from './load.ts';

export type Shape =
  | { readonly kind: 'constant'; readonly value: number }
  /** Whole seconds since the process started, or since the service's first process did. */
  | { readonly kind: 'uptime'; readonly of: 'server' | 'service' }
  | {
      readonly kind: 'counter';
      /** Mean growth at ordinary load. */
      readonly perSecond: number;
      /** Smallest amount it grows by: 1 for things counted, less for seconds. */
      readonly step: number;
      /** True if the server can set it back while it goes on running. */
      readonly isFlushable: boolean;
    }
  | {
      readonly kind: 'level';
      readonly mean: number;
      /** How far it strays from the mean at most; negative: it falls when the load rises. */
      readonly spread: number;
      readonly step: number;
      /** Series of a server with the same key stray in the same way, so that what must add up does. */
      readonly key: string | null;
    }
  | {
      /** A position that outlives the process: it grows with time alone. */
      readonly kind: 'position';
      readonly perSecond: number;
      /** Where it starts again, or null: at every change of the log file. */
      readonly wrapsAt: number | null;
      readonly lagSeconds: number;
    };

/** One server at one moment, computed once for all of its series. */
export interface Moment {
  readonly timeMs: number;
  readonly serviceStartMs: number;
  /** When the process started, and when its status was last flushed (at the earliest, then). */
  readonly startMs: number;
  readonly flushMs: number;
  /** Load since either, in seconds. */
  readonly loadSinceStart: number;
  readonly loadSinceFlush: number;
  /** From -1 to 1. */
  readonly wave: number;
}

export function constant(value: number): Shape {
  return { kind: 'constant', value };
}

export function uptime(of: 'server' | 'service' = 'server'): Shape {
  return { kind: 'uptime', of };
}

export function grows(perSecond: number): Shape {
  return { kind: 'counter', perSecond, step: 1, isFlushable: false };
}

export function growsFlushable(perSecond: number): Shape {
  return { kind: 'counter', perSecond, step: 1, isFlushable: true };
}

/** A sum of seconds, to the microsecond. */
export function growsSeconds(perSecond: number): Shape {
  return { kind: 'counter', perSecond, step: 1e-6, isFlushable: false };
}

export function level(mean: number, spread: number, step = 1, key: string | null = null): Shape {
  return { kind: 'level', mean, spread, step, key };
}

export function position(perSecond: number, wrapsAt: number | null = null, lagSeconds = 0): Shape {
  return { kind: 'position', perSecond, wrapsAt, lagSeconds };
}

/** The value of a series at a moment of its server. Never negative unless its level is. */
export function valueAt(shape: Shape, hash: number, moment: Moment): number {
  if (shape.kind === 'constant') return shape.value;
  if (shape.kind === 'counter') return counterAt(shape, hash, moment);
  if (shape.kind === 'level') return levelAt(shape, hash, moment);
  if (shape.kind === 'uptime')
    return Math.floor((moment.timeMs - startOf(shape.of, moment)) / 1000);
  return positionAt(shape, moment);
}

function counterAt(shape: ShapeOf<'counter'>, hash: number, moment: Moment): number {
  const fromMs = shape.isFlushable ? moment.flushMs : moment.startMs;
  const load = shape.isFlushable ? moment.loadSinceFlush : moment.loadSinceStart;
  const noisy = load + noiseSeconds(hash, moment.timeMs) - noiseSeconds(hash, fromMs);
  return roundTo(Math.max(noisy, 0) * shape.perSecond, shape.step, Math.floor);
}

function levelAt(shape: ShapeOf<'level'>, hash: number, moment: Moment): number {
  const stray = 0.6 * moment.wave + 0.4 * noise(hash, moment.timeMs);
  return roundTo(shape.mean + shape.spread * stray, shape.step, Math.round);
}

function positionAt(shape: ShapeOf<'position'>, moment: Moment): number {
  const seconds = moment.timeMs / 1000 - shape.lagSeconds;
  const reached = Math.floor(seconds * shape.perSecond);
  return shape.wrapsAt === null ? reached : 4 + (reached % shape.wrapsAt);
}

type ShapeOf<Kind extends Shape['kind']> = Extract<Shape, { kind: Kind }>;

function startOf(of: 'server' | 'service', moment: Moment): number {
  return of === 'server' ? moment.startMs : moment.serviceStartMs;
}

// Steps below one are powers of ten: dividing by their inverse gives the shortest decimal, 0.0012 and not
// 0.0012000000000000001.
function roundTo(value: number, step: number, round: (value: number) => number): number {
  return step >= 1 ? round(value / step) * step : round(value / step) / Math.round(1 / step);
}
