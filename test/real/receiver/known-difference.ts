// What a known difference between the bridge in strict mode and the Collector's receiver is, and what the tables of
// them ask of a difference and of the page that it was found on.

import type { ComparablePoint, Difference } from './comparable-points.ts';
import type { ComparedStep } from './strict-bridge.ts';

/** One row of the table in docs/mapping.md; its words stand there as they stand here. */
export interface KnownDifference {
  /** The rule of the mapping that is behind it. */
  readonly rule: string;
  /** What the receiver does. */
  readonly receiver: string;
  /** What the bridge does. */
  readonly bridge: string;
  readonly why: string;
  /** True for a difference that this row explains. */
  readonly explains: (difference: Difference, step: ComparedStep) => boolean;
}

/** A difference that is a whole point, of the one or of the other. */
export function isOnly(difference: Difference, side: 'ours' | 'theirs'): boolean {
  return difference.field === 'point' && difference[side] !== null;
}

/** The point that there is; the bridge's, where both have one. */
export function pointOf({ ours, theirs }: Difference): ComparablePoint {
  const point = ours ?? theirs;
  if (point === null) throw new Error('a difference without a point');
  return point;
}

export const isMarker = (point: ComparablePoint | null): boolean => point?.flags === 1;

/** The value of a side's own series without labels, such as `up`. */
export function ownValue(points: readonly ComparablePoint[], metric: string): unknown {
  return points.find(point => point.metric === metric && point.attributes === '')?.value;
}
