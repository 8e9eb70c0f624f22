// Named places at which a test makes the process end as `kill -9` would, to see that nothing is lost there. main arms
// at most one of them, from PROM2OTLP_FAILPOINT; unarmed, passing one costs a comparison.

/** Every place there is, in the order in which the points of a page come by. */
export const FAILPOINTS = [
  'commit-begun',
  'commit-stored',
  'commit-state',
  'commit-done',
  'evict-removed',
  'send-begun',
  'send-answered',
  'settle-begun',
  'settle-removed',
  'settle-done',
  'salvage-done',
  'salvage-aside',
] as const;

/** The same for logs, in the order in which an archive comes by; committing and sending they share with points. */
export const LOG_FAILPOINTS = [
  'spool-begun',
  'spool-done',
  'chunk-begun',
  'chunk-done',
  'pull-stored',
] as const;

/** At this one nothing ends: a row is left out of the queue, to see that a test notices. */
export const LOSE_ROW = 'lose-row';

export type Failpoint =
  | (typeof FAILPOINTS)[number]
  | (typeof LOG_FAILPOINTS)[number]
  | typeof LOSE_ROW;

let armed: string | null = null;
let passesLeft = 0;

/** Arms `name`, or `name@n` for its n-th pass; false when there is no such place. */
export function armFailpoint(text: string): boolean {
  const [name = '', count = '1'] = text.split('@');
  const passes = Number(count);
  const all: readonly string[] = [...FAILPOINTS, ...LOG_FAILPOINTS, LOSE_ROW];
  const isKnown = all.includes(name);
  if (!isKnown || !Number.isInteger(passes) || passes < 1) return false;
  armed = name;
  passesLeft = passes;
  return true;
}

/** Ends the process here if this is the place that was armed, and the pass. */
export function failpoint(name: Exclude<Failpoint, typeof LOSE_ROW>): void {
  if (armed !== null && isArmed(name)) process.kill(process.pid, 'SIGKILL');
}

/** True at the one pass that was armed. */
export function isArmed(name: Failpoint): boolean {
  if (armed !== name) return false;
  passesLeft--;
  return passesLeft === 0;
}
