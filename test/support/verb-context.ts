// Calls a verb in the test's own process: keeps what it prints, and lets the test stop it.

import { PassThrough, Readable } from 'node:stream';
import { OperatorError } from '../../src/errors.ts';
import { Bell } from '../../src/lib/bell.ts';
import { systemClock, type Clock } from '../../src/lib/clock.ts';
import { runVerb } from '../../src/cli/command.ts';
import type { Terminal, TextSink, Verb, VerbContext } from '../../src/cli/verb.ts';

export interface Printed {
  /** null after an OperatorError, whose lines are in `err`. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CallOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly stop?: AbortSignal;
  /** The content of stdin, which is then not a terminal. */
  readonly typed?: string;
  /** Used instead of `typed`: a terminal for the test's keys and screen. */
  readonly terminal?: Terminal;
  /** Called with each line to stdout; false means that the reader goes away. */
  readonly onLine?: (line: string) => boolean;
  /** The width of the terminal that stdout is; if absent, stdout is not a terminal. */
  readonly columns?: number;
}

export function callVerb(
  verb: Verb,
  args: readonly string[],
  options?: CallOptions,
): Promise<Printed> {
  return callStart(context => runVerb(verb, args, context), options);
}

export async function callStart(
  start: (context: VerbContext) => Promise<number> | number,
  options: CallOptions = {},
): Promise<Printed> {
  const never = new AbortController().signal;
  const { environment = {}, clock = systemClock, stop = never, onLine = () => true } = options;
  const terminal = options.terminal ?? {
    input: Readable.from([options.typed ?? '']),
    screen: new PassThrough(),
  };
  const out = new KeptSink(onLine, options.columns);
  const err = new KeptSink(() => true);
  const printed = (code: number | null): Printed => ({ code, out: out.text, err: err.text });
  try {
    const streams = { out, err, terminal };
    return printed(
      await start({
        environment,
        clock,
        ...streams,
        stop,
        stopNow: never,
        hangUp: new Bell(),
      }),
    );
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    err.line(error.message);
    return printed(null);
  }
}

class KeptSink implements TextSink {
  readonly isColoured = false;
  readonly columns: number;
  text = '';
  readonly #onLine: (line: string) => boolean;
  #isGone = false;

  constructor(onLine: (line: string) => boolean, columns = Infinity) {
    this.#onLine = onLine;
    this.columns = columns;
  }

  line(text: string): void {
    if (this.#isGone) return;
    this.text += `${text}\n`;
    this.#isGone = !this.#onLine(text);
  }

  bytes(data: Uint8Array): Promise<boolean> {
    this.text += Buffer.from(data).toString('latin1');
    return Promise.resolve(!this.#isGone);
  }

  taken(): Promise<boolean> {
    return Promise.resolve(!this.#isGone);
  }
}
