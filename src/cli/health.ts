// `health`: asks the daemon of the configuration on this machine whether it is ready, for the health check of a container.

import { printableLine } from '../lib/printable.ts';
import { flag } from './options.ts';
import { askDaemon, daemonOf, mistakesOf, type OwnDaemon } from './own-daemon.ts';
import { action, type Call, CONFIG_OPTION, configOf, type Verb, type VerbContext } from './verb.ts';

const OPTIONS = {
  config: CONFIG_OPTION,
  strict: flag('also fails while an error lasts longer than status.strict_after'),
};
const TIMEOUT_MS = 3000;
/** The answer has a line for each missing step; a longer text is cut. */
const REASON_LENGTH_MAX = 1000;

export const verb: Verb = {
  name: 'health',
  summary: 'asks the running daemon whether it is ready, for a container',
  about: `Asks /readyz at the address of status.listen, as the configuration has it, and waits 3 seconds at most. The
    daemon is ready once every target was tried, even if that failed. A mistake elsewhere in the configuration does not
    matter, as long as it is YAML: a running daemon goes on with the former one.

    --strict asks /readyz?strict=1, which also fails while the status page shows an error that has lasted longer than
    status.strict_after (5 minutes). It is for a monitor: a restart of the container mends no service and no back end.`,
  actions: [action({ options: OPTIONS, run: health })],
  exits: {
    0: 'the daemon is ready',
    1: 'the daemon is not ready; stderr says why, with the mistakes of the configuration',
    2: 'a mistake on the command line',
  },
  examples: [
    'prom2otlp health --config /etc/prom2otlp/prom2otlp.yaml',
    'prom2otlp health --strict || prom2otlp status',
  ],
};

async function health(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { environment, out, err } = context;
  const file = configOf(call, environment);
  const daemon = daemonOf(file, environment);
  if (daemon !== null) {
    const path = call.values.strict ? 'readyz?strict=1' : 'readyz';
    const reason = await reasonAgainst(daemon, path);
    if (reason === null) {
      out.line(`ready: ${daemon.url}${path}`);
      return 0;
    }
    err.line(`not ready: ${daemon.url}${path}: ${reason}`);
  }
  for (const mistake of mistakesOf(file, environment)) err.line(mistake);
  // Docker reserves the exit code 2.
  return 1;
}

/** Why the daemon is not ready; null when it is. */
async function reasonAgainst(daemon: OwnDaemon, path: string): Promise<string | null> {
  const question = { path, timeoutMs: TIMEOUT_MS, lengthMax: REASON_LENGTH_MAX };
  // /readyz is open to all.
  const told = await askDaemon({ ...daemon, token: null }, question);
  if (!told.ok) return told.cause;
  if (told.status === 200) return null;
  const reasons = told.text.trim().replaceAll('\n', '; ');
  return printableLine(`${told.status}: ${reasons}`).slice(0, REASON_LENGTH_MAX);
}
