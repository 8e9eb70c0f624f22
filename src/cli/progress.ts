// Shows at a terminal that something takes time: one line on the screen, renewed every second and wiped at the end.
// Without a terminal nothing is shown.

import type { VerbContext } from './verb.ts';

const SECOND_MS = 1000;
const WIPE = '\r\u001B[K';

/** Waits for `work`; `what` is such as `asking the agent`. */
export async function withProgress<T>(
  { clock, terminal }: Pick<VerbContext, 'clock' | 'terminal'>,
  what: string,
  work: Promise<T>,
): Promise<T> {
  const { screen } = terminal;
  if (screen.isTTY !== true) return work;
  const done = new AbortController();
  const startMs = clock.monotonicMs();
  const show = async (): Promise<void> => {
    let isShown = false;
    for (;;) {
      await clock.sleep(SECOND_MS, done.signal);
      if (done.signal.aborted) break;
      const seconds = Math.round((clock.monotonicMs() - startMs) / SECOND_MS);
      screen.write(`${WIPE}${what}: ${seconds} s`);
      isShown = true;
    }
    if (isShown) screen.write(WIPE);
  };
  const showing = show();
  try {
    return await work;
  } finally {
    done.abort();
    await showing;
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
