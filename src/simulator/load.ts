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
