// The plain stack for many addresses, whose scrapes are spread evenly over the interval, as a scheduler would do it.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Semaphore } from '../src/lib/semaphore.ts';
import { createPlainStack } from '../test/reference/plain-stack.ts';

interface PlainTask {
  readonly urls: readonly string[];
  readonly key: string;
  readonly otlp: string;
  readonly intervalMs: number;
}

const { urls, key, otlp, intervalMs } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
) as PlainTask;

/** More cycles at once do not help one thread, and exports that wait too long time out. */
const cycles = new Semaphore(4);

async function follow(url: string, index: number): Promise<void> {
  const stack = createPlainStack(url, key, otlp);
  let nextMs = Date.now() + (index / urls.length) * intervalMs;
  for (;;) {
    await sleep(Math.max(0, nextMs - Date.now()));
    // An address that cannot keep up leaves rounds out; its rounds never overlap.
    nextMs += intervalMs * Math.max(1, Math.ceil((Date.now() - nextMs) / intervalMs));
    try {
      await cycles.run(() => stack.cycle());
    } catch (error) {
      process.stderr.write(`${String(error)}\n`);
    }
  }
}

await Promise.all(urls.map(follow));
