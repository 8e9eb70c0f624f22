// Compares strict mode with the Collector's own Prometheus receiver. A real Collector scrapes page sequences: resets,
// gaps, failures, odd pages, captures. The bridge gets the same answers at the same times. Every point of every scrape
// must be the same in every field, except for the differences that the table in docs/mapping.md explains.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { collector } from './parts/collector.ts';
import type { Difference } from './receiver/comparable-points.ts';
import { envelopeDifferences } from './receiver/differences-of-envelopes.ts';
import { pageDifferences } from './receiver/differences-of-pages.ts';
import { pointDifferences } from './receiver/differences-of-points.ts';
import { type KnownDifference, pointOf } from './receiver/known-difference.ts';
import { scrapeWithReceiver } from './receiver/receiver-scrapes.ts';
import { readSequences } from './receiver/sequences.ts';
import { type ComparedStep, compareSequence } from './receiver/strict-bridge.ts';
import { checkoutFolder } from './support/folder.ts';
import { reasonToSkip } from './support/part.ts';

const noCollector = await reasonToSkip([collector]);
const sequences = readSequences();
const known: readonly KnownDifference[] = [
  ...envelopeDifferences,
  ...pageDifferences,
  ...pointDifferences,
];

/** A difference, and the rows of the table that explain it. */
interface Explained {
  readonly difference: Difference;
  readonly step: ComparedStep;
  readonly rows: readonly KnownDifference[];
}

describe.skipIf(noCollector !== null)("strict mode and the Collector's receiver", () => {
  const steps = new Map<string, readonly ComparedStep[]>();
  let explained: readonly Explained[] = [];

  beforeAll(async () => {
    await compare();
    // Compares once more: the receiver's scrapes time out after a second, and a busy machine may need longer.
    const open = explained.filter(({ rows }) => rows.length === 0);
    if (open.length === 0) return;
    console.warn(`second try: the receiver's scrapes: ${open.map(tell).join('; ').slice(0, 300)}`);
    await compare();
  });

  async function compare(): Promise<void> {
    const scrapes = await scrapeWithReceiver(sequences);
    for (const sequence of sequences) steps.set(sequence.name, compareSequence(sequence, scrapes));
    explained = [...steps.values()].flat().flatMap(step =>
      step.differences.map(difference => ({
        difference,
        step,
        rows: known.filter(({ explains }) => explains(difference, step)),
      })),
    );
  }

  test.each(sequences)('make the same points: $name', ({ name, steps: planned }) => {
    expect(steps.get(name)).toHaveLength(planned.length);
    const open = explained.filter(
      ({ step, rows }) => step.sequence.name === name && rows.length === 0,
    );
    expect(open.map(tell)).toEqual([]);
  });

  test('every explained difference occurs', () => {
    const shown = new Set(explained.flatMap(({ rows }) => rows));
    const idle = known.filter(row => !shown.has(row));
    expect(idle.map(({ rule, receiver }) => `${rule}: ${receiver}`)).toEqual([]);
  });

  test('the number of compared points is large enough', () => {
    const points = [...steps.values()].flat().flatMap(({ ours }) => ours);
    expect(sequences.length).toBeGreaterThanOrEqual(60);
    expect(points.length).toBeGreaterThan(10_000);
    const types = new Set(points.map(({ type, isMonotonic }) => `${type} ${isMonotonic}`));
    expect(types).toEqual(
      new Set(['gauge false', 'sum true', 'sum false', 'histogram false', 'summary false']),
    );
  });
});

test('docs/mapping.md has the table of known differences, word for word', () => {
  const text = readFileSync(join(checkoutFolder, 'docs/mapping.md'), 'utf8');
  const rows = text.split('\n').filter(line => line.startsWith('|'));
  const missing = known.map(tableRow).filter(row => !rows.includes(row));
  expect(missing).toEqual([]);
});

function tableRow({ rule, receiver, bridge, why }: KnownDifference): string {
  return `| ${rule} | ${receiver} | ${bridge} | ${why} |`;
}

/** A difference in one line. */
function tell({ difference, step }: Explained): string {
  const { metric, attributes, timeNs } = pointOf(difference);
  const { field, ours, theirs } = difference;
  const where = `step ${step.number}: ${metric}{${attributes}} at ${timeNs}`;
  if (field === 'point')
    return `${where}: ${ours === null ? 'the receiver' : 'the bridge'} alone has it`;
  return `${where}: ${field} ${String(ours[field])}, the receiver has ${String(theirs[field])}`;
}
