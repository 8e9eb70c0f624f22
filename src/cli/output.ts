// Where verbs print to: data lines to stdout, messages to stderr. A reader that goes away (`… | head`) ends the
// output quietly; stderr reports any other failure to write once. `drain` waits until the readers have it all.

import type { Writable } from 'node:stream';
import type { TextSink } from './verb.ts';

export interface Output {
  readonly out: TextSink;
  readonly err: TextSink;
  /** Resolves once every line is written or its reader has gone; false when lines were lost otherwise. */
  drain(): Promise<boolean>;
}

/** A stream of the process, or a test's; `isTTY` and `columns` as on tty.WriteStream. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

const COLUMNS = 80;

/** Takes over both streams' errors. Nobody else may write to them. */
export function openOutput(stdout: OutputStream, stderr: OutputStream): Output {
  const err = new StreamSink(stderr, () => undefined);
  const out = new StreamSink(stdout, cause => err.line(`cannot write to stdout: ${cause}`));
  const drain = async (): Promise<boolean> => {
    // In this order, since stderr reports stdout's last failure.
    const isOutWritten = await out.drain();
    return (await err.drain()) && isOutWritten;
  };
  return { out, err, drain };
}

class StreamSink implements TextSink {
  readonly #stream: OutputStream;
  readonly #onFailure: (cause: string) => void;
  #isGone = false;
  #isBroken = false;

  constructor(stream: OutputStream, onFailure: (cause: string) => void) {
    this.#stream = stream;
    this.#onFailure = onFailure;
    stream.on('error', error => this.#fail(error));
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY === true;
  }

  /** Of the terminal; Infinity where there is none. */
  get columns(): number {
    return this.isTerminal ? (this.#stream.columns ?? COLUMNS) : Infinity;
  }

  line(text: string): void {
    if (!this.#isGone) this.#stream.write(`${text}\n`, error => this.#fail(error));
  }

  async taken(): Promise<boolean> {
    if (!this.#isGone)
      await new Promise<void>(resolve =>
        this.#stream.write('', error => {
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
