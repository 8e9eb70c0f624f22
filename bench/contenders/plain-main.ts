// The plain stack for many addresses: one of them after the other within the interval, as a schedule would spread them.

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlainStack } from '../../test/reference/plain-stack.ts';

interface PlainTask {
  readonly urls: readonly string[];
  readonly key: string;
  readonly otlp: string;
  readonly intervalMs: number;
}

const { urls, key, otlp, intervalMs } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
) as PlainTask;

/** One thread does not get on by doing more at once, but exports that wait for it for too long are given up. */
let free = 4;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (free > 0) free--;
  else await new Promise<void>(resolve => waiting.push(resolve));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  }
}

async function follow(url: string, index: number): Promise<void> {
  const stack = createPlainStack(url, key, otlp);
  let nextMs = Date.now() + (index / urls.length) * intervalMs;
  for (;;) {
    await sleep(Math.max(0, nextMs - Date.now()));
    // What cannot keep up leaves rounds out, and never runs beside itself.
    nextMs += intervalMs * Math.max(1, Math.ceil((Date.now() - nextMs) / intervalMs));
    try {
      await inTurn(() => stack.cycle());
    } catch (error) {
      process.stderr.write(`${String(error)}\n`);
    }
  }
}

await Promise.all(urls.map(follow));
