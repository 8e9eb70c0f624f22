// The output of verbs: data lines to stdout, messages to stderr, both printable. A reader that goes away (`… | head`) ends the output
// quietly; any other failure to write is reported once, on stderr. `drain` waits until everything is written.

import type { Clock } from '../lib/clock.ts';
import {
  painted,
  type Style,
  wantsColour,
  printableLine,
  printableOutput,
} from '../lib/printable.ts';
import { formatDuration } from '../lib/format.ts';
import type { Terminal, TextSink, VerbContext } from './verb.ts';

export interface Output {
  readonly out: TextSink;
  readonly err: TextSink;
  /** Resolves once every line is written or its reader is gone; false when lines were lost for another reason. */
  drain(): Promise<boolean>;
}

const COLUMNS = 80;

/** A terminal that does not know its width gives undefined or 0. */
function columnsOf({ columns = 0 }: Terminal['screen']): number {
  return columns > 0 ? columns : COLUMNS;
}

type Environment = VerbContext['environment'];

/** Handles the errors of both streams. Nothing else may write to them. The environment decides about colour. */
export function openOutput(
  stdout: Terminal['screen'],
  stderr: Terminal['screen'],
  environment: Environment = {},
): Output {
  const err = new StreamSink(stderr, environment, () => undefined);
  const out = new StreamSink(stdout, environment, cause =>
    err.line(`cannot write to stdout: ${cause}`),
  );
  const drain = async (): Promise<boolean> => {
    // In this order, since stderr reports stdout's last failure.
    const isOutWritten = await out.drain();
    return (await err.drain()) && isOutWritten;
  };
  return { out, err, drain };
}

export function paint(sink: Pick<TextSink, 'isColoured'>, style: Style, text: string): string {
  return sink.isColoured ? painted(style, text) : text;
}

class StreamSink implements TextSink {
  readonly #stream: Terminal['screen'];
  readonly #onFailure: (cause: string) => void;
  readonly isColoured: boolean;
  #isGone = false;
  #isBroken = false;

  constructor(
    stream: Terminal['screen'],
    environment: Environment,
    onFailure: (cause: string) => void,
  ) {
    this.#stream = stream;
    this.isColoured = wantsColour(stream.isTTY === true, environment);
    this.#onFailure = onFailure;
    stream.on('error', error => this.#fail(error));
  }

  get columns(): number {
    return this.#stream.isTTY === true ? columnsOf(this.#stream) : Infinity;
  }

  line(text: string): void {
    const line = `${printableOutput(text)}\n`;
    if (!this.#isGone) this.#stream.write(line, error => this.#fail(error));
  }

  taken(): Promise<boolean> {
    return this.bytes(new Uint8Array());
  }

  async bytes(data: Uint8Array): Promise<boolean> {
    if (!this.#isGone)
      await new Promise<void>(resolve =>
        this.#stream.write(data, error => {
          this.#fail(error);
          resolve();
        }),
      );
    return !this.#isGone;
  }

  async drain(): Promise<boolean> {
    await this.taken();
    return !this.#isBroken;
  }

  /** Called after every write; the first failure ends the output. */
  #fail(error: NodeJS.ErrnoException | null | undefined): void {
    if (error === null || error === undefined || this.#isGone) return;
    this.#isGone = true;
    if (error.code === 'EPIPE') return;
    this.#isBroken = true;
    this.#onFailure(error.message);
  }
}

// Progress: shows at a terminal that something takes time, in one line on the screen, renewed every second and wiped at
// the end. Without a terminal nothing is shown.

const SECOND_MS = 1000;
const WIPE = '\r\u001B[K';

/** Waits for `work`. `what` is a text such as `asking the agent`, or returns the current state of the work. */
export async function withProgress<T>(
  { clock, terminal }: Pick<VerbContext, 'clock' | 'terminal'>,
  what: string | (() => string),
  work: Promise<T>,
): Promise<T> {
  const { screen } = terminal;
  if (screen.isTTY !== true) return work;
  const startMs = clock.monotonicMs();
  let isShown = false;
  const show = (): void => {
    const seconds = Math.round((clock.monotonicMs() - startMs) / SECOND_MS);
    const line = typeof what === 'string' ? `${what}: ${seconds} s` : what();
    // A longer line would wrap, and could not be wiped.
    screen.write(WIPE + printableLine(line).slice(0, columnsOf(screen) - 1));
    isShown = true;
    cancel = clock.after(SECOND_MS, show);
  };
  let cancel = clock.after(SECOND_MS, show);
  try {
    return await work;
  } finally {
    cancel();
    if (isShown) screen.write(WIPE);
  }
}

/** A line for people while progress is shown. */
export function tellMeanwhile(
  { err, terminal }: Pick<VerbContext, 'err' | 'terminal'>,
  line: string,
): void {
  if (terminal.screen.isTTY === true) terminal.screen.write(WIPE);
  err.line(line);
}

/**
 * Returns a function that puts the amount done so far into words, with its rate since this call. If the total is known,
 * it adds the time that the rest takes at this rate: `1,200 of 5,000 points (24 %), 300 points/s, 13 s left`.
 */
export function createMeter(
  clock: Clock,
  format: (amount: number) => string,
): (done: number, total?: number) => string {
  const startMs = clock.monotonicMs();
  return (done, total) => {
    const perMs = done / Math.max(clock.monotonicMs() - startMs, 1);
    const rate = `${format(Math.round(perMs * SECOND_MS))}/s`;
    if (total === undefined) return `${format(done)}, ${rate}`;
    const percent = Math.floor((100 * done) / Math.max(total, 1));
    const rest = perMs > 0 ? `, ${formatDuration((total - done) / perMs)} left` : '';
    return `${format(done)} of ${format(total)} (${percent} %), ${rate}${rest}`;
  };
}
