// The load of a simulated server as a pure function of seed and time: no state, so that any value at any time
// can be computed again. Counters grow with the load's integral, gauges sway with its wave. The integral never
// falls: its slope is at least 1 - 0.35 (day) - 0.2 (minutes) - 0.3 (noise).

const DAY_S = 86_400;
const WAVE_S = 420;
const DAY_SHARE = 0.35;
const WAVE_SHARE = 0.2;
const NOISE_SHARE = 0.3;
/** Noise is drawn once a step and runs straight in between. */
const NOISE_STEP_S = 60;
const TURN = 2 * Math.PI;

/** A 32-bit hash of a text, the same on every machine (FNV-1a). */
export function hashText(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return mix(hash);
}

/** Seconds of full load since the epoch of the simulation. Differences of it grow about as time does. */
export function loadSeconds(hash: number, timeMs: number): number {
  const seconds = timeMs / 1000;
  const day = (DAY_SHARE * DAY_S * Math.sin(dayAngle(hash, seconds))) / TURN;
  const wave = (WAVE_SHARE * WAVE_S * Math.sin(waveAngle(hash, seconds))) / TURN;
  return seconds + day + wave;
}

/** How busy the server is at the moment, from -1 (least) to 1 (most): the slope of loadSeconds. */
export function loadWave(hash: number, timeMs: number): number {
  const seconds = timeMs / 1000;
  const day = DAY_SHARE * Math.cos(dayAngle(hash, seconds));
  const wave = WAVE_SHARE * Math.cos(waveAngle(hash, seconds));
  return (day + wave) / (DAY_SHARE + WAVE_SHARE);
}

/** Smooth noise from -1 to 1, different for every hash. */
export function noise(hash: number, timeMs: number): number {
  const position = timeMs / 1000 / NOISE_STEP_S;
  const step = Math.floor(position);
  const from = unit(hash, step);
  return 2 * (from + (unit(hash, step + 1) - from) * (position - step)) - 1;
}

/** What noise adds to an integral, in seconds of load; it never outweighs the load itself. */
export function noiseSeconds(hash: number, timeMs: number): number {
  return (noise(hash, timeMs) * NOISE_STEP_S * NOISE_SHARE) / 2;
}

/** A number of [0, 1) drawn for one step. */
export function unit(hash: number, step: number): number {
  return mix(hash ^ Math.imul(step | 0, 0x9e3779b1)) / 0x1_0000_0000;
}

function dayAngle(hash: number, seconds: number): number {
  return TURN * (seconds / DAY_S + (hash & 0xff) / 256);
}

function waveAngle(hash: number, seconds: number): number {
  return TURN * (seconds / WAVE_S + ((hash >>> 8) & 0xff) / 256);
}

// The finisher of MurmurHash3: every bit of the input reaches every bit of the output.
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

// How one simulated series moves: a few kinds, each a pure function of the server's moment and the series'
// own hash. A counter starts at zero with its process, so that a restart shows as a fall of the value.

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
