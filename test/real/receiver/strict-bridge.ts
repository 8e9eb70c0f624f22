// Gives the bridge in strict mode the page sequences, at the exact times at which the receiver scraped them: decode,
// derive and encode of one target, read back by the independent decoder. A step has all that the comparison needs.

import { stringify } from 'yaml';
import type { MetricsConfig } from '../../../src/config/config.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { recognize } from '../../../src/pipeline/collect/scrape.ts';
import { strictProblems } from '../../../src/pipeline/decode/strict/strict.ts';
import { oracleDecodeMetrics } from '../../reference/oracle.ts';
import { type Seen, T0, Target } from '../../support/target.ts';
import {
  type ComparablePoint,
  comparablePoints,
  type Difference,
  differencesOf,
  seriesOf,
} from './comparable-points.ts';
import { PageText } from './page-text.ts';
import type { ReceiverScrape, ReceiverScrapes } from './receiver-scrapes.ts';
import type { Sequence } from './sequences.ts';

/** One step of a sequence, with the points of both sides. */
export interface ComparedStep {
  readonly sequence: Sequence;
  /** The number of the step, from 1. */
  readonly number: number;
  /** Empty when there was no page. */
  readonly page: PageText;
  readonly format: 'text' | 'openmetrics';
  /** When the scrape started. */
  readonly timeMs: number;
  readonly ours: readonly ComparablePoint[];
  readonly theirs: readonly ComparablePoint[];
  /** The bridge's samples of this page by outcome. */
  readonly reads: Seen['reads'];
  /** False when the page's own specification forbids something on it. */
  readonly isAllowed: boolean;
  /** The newest point of each series before this step: the bridge's, and the receiver's. */
  readonly oursBefore: ReadonlyMap<string, ComparablePoint>;
  readonly theirsBefore: ReadonlyMap<string, ComparablePoint>;
  readonly differences: readonly Difference[];
}

/** Runs one sequence through the bridge and compares it step by step. */
export function compareSequence(sequence: Sequence, scrapes: ReceiverScrapes): ComparedStep[] {
  const target = strictTarget(sequence, scrapes.instance);
  const before = {
    ours: new Map<string, ComparablePoint>(),
    theirs: new Map<string, ComparablePoint>(),
  };
  return (scrapes.bySequence.get(sequence.name) ?? []).map((scrape, index) => {
    const [oursBefore, theirsBefore] = [new Map(before.ours), new Map(before.theirs)];
    const { seen, format } = feed(target, scrape);
    const ours = comparablePoints(oracleDecodeMetrics(seen.translated.batch.payload));
    const { answer, timeMs, points: theirs } = scrape;
    for (const point of ours) before.ours.set(seriesOf(point), point);
    for (const point of theirs) before.theirs.set(seriesOf(point), point);
    const text = answer.kind === 'page' ? answer.body : '';
    return {
      sequence,
      number: index + 1,
      page: new PageText(text),
      format,
      timeMs,
      ours,
      theirs,
      reads: seen.reads,
      isAllowed: strictProblems(Buffer.from(text), format).length === 0,
      oursBefore,
      theirsBefore,
      differences: differencesOf(ours, theirs),
    };
  });
}

function strictTarget(sequence: Sequence, instance: string): Target {
  const { name, metrics } = sequence;
  const [address = '', port] = instance.split(':');
  return new Target({
    services: [name],
    metrics: strictMetrics(metrics),
    identity: { name, id: instance, server: { address, port: Number(port), scheme: 'http' } },
  });
}

function strictMetrics(metrics: Sequence['metrics']): MetricsConfig {
  const text = stringify({
    api: { base_url: 'http://localhost', key: 'none' },
    services: [{ id: 'none' }],
    metrics: { mapping: 'strict', ...metrics },
  });
  return parseConfig(text, { file: 'sequence.yaml', environment: {} }).metrics;
}

function feed(
  target: Target,
  { answer, timeMs }: ReceiverScrape,
): { seen: Seen; format: ComparedStep['format'] } {
  const seconds = (timeMs - T0) / 1000;
  if (answer.kind === 'failure') return { seen: target.fail(seconds), format: 'text' };
  const recognized = recognize(Buffer.from(answer.body), answer.contentType);
  if (recognized.kind !== 'page')
    return { seen: target.fail(seconds, recognized.kind), format: 'text' };
  const { format } = recognized;
  return { seen: target.page(seconds, answer.body, { format }), format };
}
