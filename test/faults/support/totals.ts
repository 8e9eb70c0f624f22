// Makes a file for the figures of the suite's tests before the suite, and prints their sums after it.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { Figures } from './figures.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    figuresFile: string;
  }
}

export function setup(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'prom2otlp-figures-'));
  const file = join(directory, 'figures.jsonl');
  writeFileSync(file, '');
  project.provide('figuresFile', file);
  return () => {
    printTotals(readFileSync(file, 'utf8'));
    rmSync(directory, { recursive: true });
  };
}

function printTotals(text: string): void {
  const all = text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Figures);
  const sum = (key: Exclude<keyof Figures, 'name'>): string =>
    all.reduce((total, figures) => total + figures[key], 0).toLocaleString('en');
  console.log(
    [
      `faults: ${String(all.length)} tests, ${sum('kills')} kills, ${sum('points')} points received`,
      `${sum('lost')} lost, ${sum('wrong')} wrong, ${sum('outOfOrder')} out of order, ${sum('movedStarts')} starts moved`,
      `${sum('duplicates')} points twice, in ${sum('duplicateBatches')} batches after ${sum('lostAnswers')} answers that may have been lost`,
      `${sum('givenUp')} given up as the tests wanted it, all in the account`,
      `${sum('interruptedPages')} pages interrupted by kills before they were stored, ${sum('failedPages')} not read in time, as \`up\` says`,
    ].join('\n        '),
  );
}
