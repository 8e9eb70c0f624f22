// Waits for an abort, however long that takes: timers end after 24 days.

/** Resolves when the signal is aborted; at once when it already is. It does not keep the process alive. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
