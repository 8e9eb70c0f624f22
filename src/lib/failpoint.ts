// Named places at which a test kills the process, to check that nothing is lost there. main arms at most one of them,
// from PROM2OTLP_FAILPOINT; unarmed, each costs a comparison.

/** The failpoints of metrics, in the order in which a page passes them. */
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

/** The failpoints of logs, in the order in which an archive passes them; commit and send are shared with metrics. */
export const LOG_FAILPOINTS = [
  'spool-begun',
  'spool-done',
  'chunk-begun',
  'chunk-done',
  'pull-stored',
] as const;

type Failpoint = (typeof FAILPOINTS)[number] | (typeof LOG_FAILPOINTS)[number];

/** This one drops a row instead of killing the process, to check that a test notices. */
export const LOSE_ROW = 'lose-row';

let armed: string | null = null;
let passesLeft = 0;

/** Arms `name`, or `name@n` for its n-th pass; false if there is no such failpoint. */
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

/** Kills the process at the armed failpoint and pass. */
export function failpoint(name: Failpoint): void {
  if (armed !== null && isArmed(name)) process.kill(process.pid, 'SIGKILL');
}

export function isArmed(name: Failpoint | typeof LOSE_ROW): boolean {
  if (armed !== name) return false;
  passesLeft--;
  return passesLeft === 0;
}
