// From argv to a verb. The only place that reads the process's arguments and environment, that handles signals,
// and that ends the process: 0 and 1 as the verb says, 2 for a mistake of the operator (or the verb's `notNow` where
// waiting may help), 1 for a broken invariant. The reason for a failure is also written to the file that
// PROM2OTLP_TERMINATION_MESSAGE names: Kubernetes shows it in `kubectl describe pod`.

import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { openOutput, paint } from './cli/output.ts';
import type { Verb } from './cli/verb.ts';
import { readRequest } from './cli/verbs.ts';
import { causeText, formatMistake, MORE_FILES, OperatorError } from './errors.ts';
import { Bell } from './lib/bell.ts';
import { systemClock } from './lib/clock.ts';
import { compileWell } from './lib/footprint.ts';
import { armFailpoint } from './lib/failpoint.ts';
import { printableText } from './lib/printable.ts';

const output = openOutput(process.stdout, process.stderr, process.env);

/** The exit code of a mistake that may pass by itself; set by the verb once that is loaded. */
let notNow = 2;

async function main(argv: readonly string[]): Promise<number> {
  const message = armFailpoint(process.env);
  if (message !== null) throw new OperatorError([{ message }]);
  // Handled from here on: otherwise a SIGHUP while the verb is being loaded would end the process.
  const hangUp = new Bell();
  const onHangUp = (): void => hangUp.ring();
  process.on('SIGHUP', onHangUp);
  const { columns, isColoured } = output.out;
  const width = Math.min(columns, HELP_WIDTH_MAX);
  const request = await readRequest(argv, { width, isColoured });
  if (request.kind === 'text') {
    output.out.line(request.text);
    return 0;
  }
  const { verb } = request;
  notNow = verb.notNow ?? notNow;
  if (verb.isReloadable !== true) process.off('SIGHUP', onHangUp);
  // Only the daemon waits until there is enough work to optimize for (compileForWork).
  if (verb.name !== 'run') compileWell();
  const [stop, stopNow] = signals(verb);
  return request.start({
    environment: process.env,
    clock: systemClock,
    out: output.out,
    err: output.err,
    // A getter: a verb that reads no input does not open stdin.
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

const HELP_WIDTH_MAX = 100;

/** The first signal asks to stop, the second to stop now. Other verbs than stoppable ones end at a signal as usual. */
function signals({ isStoppable, isReloadable }: Verb): [AbortSignal, AbortSignal] {
  const stop = new AbortController();
  const stopNow = new AbortController();
  const onSignal = (): void => (stop.signal.aborted ? stopNow : stop).abort();
  // A closed terminal sends SIGHUP.
  const names = isReloadable === true ? ['SIGTERM', 'SIGINT'] : ['SIGTERM', 'SIGINT', 'SIGHUP'];
  if (isStoppable === true) for (const name of names) process.on(name, onSignal);
  return [stop.signal, stopNow.signal];
}

async function end(code: number): Promise<void> {
  const isWhole = await output.drain();
  process.exit(isWhole ? code : Math.max(code, 1));
}

function fail(error: unknown): Promise<void> {
  if (error instanceof OperatorError) {
    const lines = error.mistakes.map(formatMistake);
    for (const line of lines) output.err.line(paint(output.err, 'red', line));
    leaveReason(lines);
    return end(error.isTransient ? notNow : 2);
  }
  if (error instanceof Error && 'code' in error && error.code === 'EMFILE') {
    const line = `cannot go on: ${causeText(error)}; ${MORE_FILES}`;
    output.err.line(line);
    leaveReason([line]);
    return end(1);
  }
  const isBug = error instanceof Error && error.message.startsWith('BUG:');
  const stack = error instanceof Error ? (error.stack ?? error.message) : causeText(error);
  const text = isBug ? stack : `BUG: ${stack}`;
  output.err.line(text);
  leaveReason(text.split('\n').slice(0, 1));
  return end(1);
}

/** Kubernetes reads no more than this of a termination message. */
const REASON_BYTES_MAX = 4096;

/** Writes lines to the file of the termination message, if the environment names one. */
function leaveReason(lines: readonly string[]): void {
  const file = process.env['PROM2OTLP_TERMINATION_MESSAGE'];
  if (file === undefined || file === '') return;
  try {
    // Writes only to an existing file: a wrong name must not create a new one.
    const text = Buffer.from(printableText(`${lines.join('\n')}\n`));
    // Does not wait: a FIFO that nobody reads would block the exit for ever.
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
