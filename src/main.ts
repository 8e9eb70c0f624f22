// From argv to a verb. The only place that reads the process's arguments and environment, that handles signals,
// and that ends the process: 0 and 1 as the verb says, 2 for a mistake of the operator (or the verb's `notNow` where
// waiting may help), 1 for a broken invariant. The reason of a bad end also goes into the file that
// PROM2OTLP_TERMINATION_MESSAGE names: Kubernetes shows it in `kubectl describe pod`.

import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { openOutput } from './cli/output.ts';
import { usageError, type Verb } from './cli/verb.ts';
import { causeText, OperatorError, formatMistake } from './errors.ts';
import { Bell } from './lib/bell.ts';
import { systemClock } from './lib/clock.ts';
import { compileWell } from './lib/footprint.ts';
import { armFailpoint } from './lib/failpoint.ts';

/** Loaded when called: what a verb does not use costs no memory. */
const VERBS: Readonly<Record<string, () => Promise<{ verb: Verb }>>> = {
  run: () => import('./cli/run.ts'),
  check: () => import('./cli/check.ts'),
  once: () => import('./cli/once.ts'),
  show: () => import('./cli/show.ts'),
  services: () => import('./cli/services.ts'),
  logs: () => import('./cli/logs.ts'),
  backups: () => import('./cli/backups.ts'),
  restores: () => import('./cli/restores.ts'),
  agent: () => import('./cli/agent.ts'),
  queue: () => import('./cli/queue.ts'),
  demo: () => import('./cli/demo.ts'),
  simulate: () => import('./cli/simulate.ts'),
  version: () => import('./cli/version.ts'),
};

const output = openOutput(process.stdout, process.stderr);

/** The exit code of a mistake that may pass by itself; the verb says it once it is loaded. */
let notNow = 2;

async function main(argv: readonly string[]): Promise<number> {
  const place = process.env['PROM2OTLP_FAILPOINT'];
  if (place !== undefined && !armFailpoint(place))
    throw usageError('--help', `there is no failpoint ${JSON.stringify(place)}`);
  const [word = '--help', ...rest] = argv;
  const isHelp = ['--help', '-h', 'help'].includes(word);
  const name = word === '--version' ? 'version' : isHelp ? (rest[0] ?? '') : word;
  if (name === '') {
    output.out.line(await overview());
    return 0;
  }
  const load = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (load === undefined) throw unknownVerb(name);
  // From here on: while the verb is being loaded, the signal would end the process.
  const hangUp = new Bell();
  const onHangUp = (): void => hangUp.ring();
  process.on('SIGHUP', onHangUp);
  const { verb } = await load();
  notNow = verb.notNow ?? notNow;
  if (verb.isReloadable !== true) process.off('SIGHUP', onHangUp);
  // Only a daemon waits for work that is worth it.
  if (name !== 'run') compileWell();
  const end = rest.indexOf('--');
  const options = end < 0 ? rest : rest.slice(0, end);
  if (isHelp || options.includes('--help') || options.includes('-h')) {
    output.out.line(verb.help.trim());
    return 0;
  }
  const [stop, stopNow] = verb.isStoppable === true ? signals() : NO_SIGNALS;
  return verb.run({
    args: rest,
    environment: process.env,
    clock: systemClock,
    out: output.out,
    err: output.err,
    // Looked up when it is asked for: a verb that reads nothing does not open it.
    terminal: {
      get input() {
        return process.stdin;
      },
      screen: process.stderr,
    },
    stop,
    stopNow,
    hangUp,
  });
}

function unknownVerb(name: string): OperatorError {
  const hint = `the verbs are ${Object.keys(VERBS).join(', ')}; see prom2otlp --help`;
  const message = `there is no verb ${JSON.stringify(name)}`;
  return new OperatorError([{ code: 'E_CLI_USAGE', message, hint }]);
}

async function overview(): Promise<string> {
  const lines: string[] = [];
  for (const [name, load] of Object.entries(VERBS))
    lines.push(`  ${name.padEnd(10)} ${(await load()).verb.summary}`);
  return [
    'prom2otlp brings the metrics and logs of a hosted database service into OpenTelemetry.',
    '',
    'Usage: prom2otlp VERB [options]',
    '',
    ...lines,
    '',
    'Try:   prom2otlp demo                       everything in one process, needs nothing else',
    '       prom2otlp check --config F --probe   checks the configuration, the service and the back end',
    '       prom2otlp VERB --help                options and examples of a verb',
  ].join('\n');
}

/** What a verb sees that does not stop by itself: a signal simply ends the process. */
const NO_SIGNALS: readonly [AbortSignal, AbortSignal] = [
  new AbortController().signal,
  new AbortController().signal,
];

/** The first signal asks to stop, the second to stop now. */
function signals(): [AbortSignal, AbortSignal] {
  const stop = new AbortController();
  const stopNow = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) stopNow.abort();
    else stop.abort();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return [stop.signal, stopNow.signal];
}

async function end(code: number): Promise<void> {
  const isWhole = await output.drain();
  process.exit(isWhole ? code : Math.max(code, 1));
}

function fail(error: unknown): Promise<void> {
  if (error instanceof OperatorError) {
    const lines = error.mistakes.map(formatMistake);
    for (const line of lines) output.err.line(line);
    leaveReason(lines);
    return end(error.isTransient ? notNow : 2);
  }
  const isBug = error instanceof Error && error.message.startsWith('BUG:');
  const stack = error instanceof Error ? (error.stack ?? error.message) : causeText(error);
  const text = isBug ? stack : `BUG: ${stack}`;
  output.err.line(text);
  leaveReason(text.split('\n').slice(0, 1));
  return end(1);
}

/** Kubernetes reads no more of it. */
const REASON_BYTES_MAX = 4096;

/** Writes lines into the file that waits for them; there is none outside of Kubernetes. */
function leaveReason(lines: readonly string[]): void {
  const file = process.env['PROM2OTLP_TERMINATION_MESSAGE'];
  if (file === undefined || file === '') return;
  try {
    // Only into a file that is there: the name may be wrong, and it must not become one more file.
    const text = Buffer.from(`${lines.join('\n')}\n`);
    // And without waiting: a FIFO that nobody reads would hold the end for ever.
    const opened = openSync(file, constants.O_WRONLY | constants.O_TRUNC | constants.O_NONBLOCK);
    writeSync(opened, text.subarray(0, REASON_BYTES_MAX));
    closeSync(opened);
  } catch (error) {
    output.err.line(`cannot write the reason to ${file}: ${causeText(error)}`);
  }
}

process.on('uncaughtException', error => void fail(error));
process.on('unhandledRejection', error => void fail(error));

main(process.argv.slice(2)).then(end, fail);
