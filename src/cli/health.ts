// `health`: asks the daemon of the configuration on this machine whether it is ready, for the health check of a container.

import { loadConfig, readStatusAddress } from '../config/load.ts';
import { causeText, formatMistake, OperatorError } from '../errors.ts';
import { printableLine } from '../lib/printable.ts';
import { action, type Call, CONFIG_OPTION, configOf, type Verb, type VerbContext } from './verb.ts';

const OPTIONS = { config: CONFIG_OPTION };
const TIMEOUT_MS = 3000;
/** The answer has a line for each missing step; a longer text is cut. */
const REASON_LENGTH_MAX = 1000;

export const verb: Verb = {
  name: 'health',
  summary: 'asks the running daemon whether it is ready, for a container',
  about: `Asks /readyz at the address of status.listen, as the configuration has it, and waits 3 seconds at most. The
    daemon is ready once every target was tried, even if that failed. A mistake elsewhere in the configuration does not
    matter, as long as it is YAML: a running daemon goes on with the former one.`,
  actions: [action({ options: OPTIONS, run: health })],
  exits: {
    0: 'the daemon is ready',
    1: 'the daemon is not ready; stderr says why, with the mistakes of the configuration',
    2: 'a mistake on the command line',
  },
  examples: ['prom2otlp health --config /etc/prom2otlp/prom2otlp.yaml'],
};

async function health(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { environment, out, err } = context;
  const file = configOf(call, environment);
  const address = readStatusAddress({ file, environment });
  if (address !== null) {
    const url = readyUrl(address);
    const reason = await reasonAgainst(url);
    if (reason === null) {
      out.line(`ready: ${url}`);
      return 0;
    }
    err.line(`not ready: ${url}: ${reason}`);
  }
  for (const mistake of mistakesOf(file, environment)) err.line(mistake);
  // Docker reserves the exit code 2.
  return 1;
}

/** The mistakes of the configuration: why a daemon does not start. */
function mistakesOf(file: string, environment: VerbContext['environment']): readonly string[] {
  try {
    loadConfig({ file, environment });
    return [];
  } catch (error) {
    if (error instanceof OperatorError) return error.mistakes.map(formatMistake);
    throw error;
  }
}

/** The URL of /readyz for a process on the same machine. */
function readyUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  const own: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const name = own[host] ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}/readyz`;
}

/** Why the daemon is not ready; null when it is. */
async function reasonAgainst(url: string): Promise<string | null> {
  if (url.endsWith(':0/readyz'))
    return 'status.listen takes any free port, which nobody else knows';
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
    if (answer.status === 200) return null;
    let text = '';
    for await (const piece of answer.body ?? []) {
      text += Buffer.from(piece).toString();
      if (text.length > REASON_LENGTH_MAX) break;
    }
    const reasons = text.trim().replaceAll('\n', '; ');
    return printableLine(`${answer.status}: ${reasons}`).slice(0, REASON_LENGTH_MAX);
  } catch (error) {
    return causeText(error);
  }
}
