// The load of a simulated server as a pure function of seed and time: no state, so that any value at any time
// can be computed again. Counters grow with the load's integral, gauges sway with its wave. The integral never
// falls: its slope is at least 1 - 0.35 (day) - 0.2 (minutes) - 0.3 (noise).

import { mix } from '../lib/shard.ts';

const DAY_S = 86_400;
const WAVE_S = 420;
const DAY_SHARE = 0.35;
const WAVE_SHARE = 0.2;
const NOISE_SHARE = 0.3;
/** Noise is drawn once per step, and linear in between. */
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

/** 32 hexadecimal digits that follow from a text. */
export function hexOf(text: string): string {
  const parts = [1, 2, 3, 4].map(part => hashText(text, part));
  return parts.map(part => part.toString(16).padStart(8, '0')).join('');
}

/** Seconds of full load since the epoch of the simulation. Its differences grow about as fast as time. */
export function loadSeconds(hash: number, timeMs: number): number {
  const seconds = timeMs / 1000;
  const day = (DAY_SHARE * DAY_S * Math.sin(dayAngle(hash, seconds))) / TURN;
  const wave = (WAVE_SHARE * WAVE_S * Math.sin(waveAngle(hash, seconds))) / TURN;
  return seconds + day + wave;
}

/** How busy the server is, from -1 (least) to 1 (most): the slope of loadSeconds. */
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

/** The noise in an integral, in seconds of load; smaller than the load itself. */
export function noiseSeconds(hash: number, timeMs: number): number {
  return (noise(hash, timeMs) * NOISE_STEP_S * NOISE_SHARE) / 2;
}

/** A number in [0, 1), drawn for one step. */
export function unit(hash: number, step: number): number {
  return mix(hash ^ Math.imul(step | 0, 0x9e3779b1)) / 0x1_0000_0000;
}

function dayAngle(hash: number, seconds: number): number {
  return TURN * (seconds / DAY_S + (hash & 0xff) / 256);
}

function waveAngle(hash: number, seconds: number): number {
  return TURN * (seconds / WAVE_S + ((hash >>> 8) & 0xff) / 256);
}

// How one simulated series moves: a function of its server's Moment and of the hash of the series. A counter starts at
// zero with its process, so that a restart shows as a fall of the value.

/** The state of one server at one time, computed once for all of its series. */
export interface Moment {
  readonly timeMs: number;
  /** When the first process of the service started, and when this one did. */
  readonly serviceStartMs: number;
  readonly startMs: number;
  /** Load since the start of the process, in seconds. */
  readonly load: number;
  /** From -1 to 1. */
  readonly wave: number;
}

export interface Shape {
  /** Levels of a server with the same key sway in the same way, so that related values add up. */
  readonly key?: string;
  readonly at: (moment: Moment, hash: number) => number;
}

export function constant(value: number): Shape {
  return { at: () => value };
}

/** Whole seconds since the process started, or since the first process of the service did. */
export function uptime(of: 'server' | 'service' = 'server'): Shape {
  const at = ({ timeMs, startMs, serviceStartMs }: Moment): number =>
    Math.floor((timeMs - (of === 'server' ? startMs : serviceStartMs)) / 1000);
  return { at };
}

/** A counter with this mean growth; `step` is the smallest amount by which it grows. */
export function grows(perSecond: number, step = 1): Shape {
  const at = ({ timeMs, startMs, load }: Moment, hash: number): number => {
    const noisy = load + noiseSeconds(hash, timeMs) - noiseSeconds(hash, startMs);
    return roundTo(Math.max(noisy, 0) * perSecond, step, Math.floor);
  };
  return { at };
}

/** A gauge that differs from its mean by `spread` at most. With a negative `spread`, it falls when the load rises. */
export function level(mean: number, spread: number, step = 1, key?: string): Shape {
  const at = ({ timeMs, wave }: Moment, hash: number): number =>
    roundTo(mean + spread * (0.6 * wave + 0.4 * noise(hash, timeMs)), step, Math.round);
  return { at, ...(key === undefined ? {} : { key }) };
}

/** A position that outlives the process: it grows with time alone, and starts again at `wrapsAt`. */
export function position(perSecond: number, wrapsAt: number = Infinity, lagSeconds = 0): Shape {
  const at = ({ timeMs }: Moment): number => {
    const reached = Math.floor((timeMs / 1000 - lagSeconds) * perSecond);
    return wrapsAt === Infinity ? reached : 4 + (reached % wrapsAt);
  };
  return { at };
}

// Steps below one are powers of ten: dividing by their inverse gives the shortest decimal, 0.0012 instead of
// 0.0012000000000000001.
function roundTo(value: number, step: number, round: (value: number) => number): number {
  return step >= 1 ? round(value / step) * step : round(value / step) / Math.round(1 / step);
}
