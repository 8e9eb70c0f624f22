// Named places at which a test of a checkout kills the process, to check that nothing is lost there. main arms at most
// one of them, from PROM2OTLP_FAILPOINT. The build drops all of this (tools/bundle.ts).

/** The bundler sets it. */
declare const PROM2OTLP_IS_SHIPPED: true | undefined;
const IS_SHIPPED = typeof PROM2OTLP_IS_SHIPPED === 'boolean';

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
const LOSE_ROW = 'lose-row';

let armed: string | null = null;
let passesLeft = 0;

/** Arms PROM2OTLP_FAILPOINT: `name`, or `name@n` for its n-th pass. Returns what is wrong with it, or null. */
export function armFailpoint(
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  if (IS_SHIPPED) return null;
  const text = environment['PROM2OTLP_FAILPOINT'];
  if (text === undefined) return null;
  const [name = '', count = '1'] = text.split('@');
  const passes = Number(count);
  const all: readonly string[] = [...FAILPOINTS, ...LOG_FAILPOINTS, LOSE_ROW];
  const isKnown = all.includes(name);
  if (!isKnown || !Number.isInteger(passes) || passes < 1)
    return `PROM2OTLP_FAILPOINT: there is no failpoint ${JSON.stringify(text)}`;
  armed = name;
  passesLeft = passes;
  return null;
}

/** Kills the process at the armed failpoint and pass. */
export function failpoint(name: Failpoint): void {
  if (!IS_SHIPPED && isArmed(name)) process.kill(process.pid, 'SIGKILL');
}

/** True if a row is to be lost at this pass. */
export function isRowLost(): boolean {
  return !IS_SHIPPED && isArmed(LOSE_ROW);
}

function isArmed(name: Failpoint | typeof LOSE_ROW): boolean {
  if (armed !== name) return false;
  passesLeft--;
  return passesLeft === 0;
}
