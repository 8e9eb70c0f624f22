// The type of a known difference between the bridge in strict mode and the Collector's receiver, and functions for the
// tables of known differences.

import type { ComparablePoint, Difference } from './comparable-points.ts';
import type { ComparedStep } from './strict-bridge.ts';

/** One row of the table in docs/mapping.md, which has the same words. */
export interface KnownDifference {
  /** The rule of the mapping that causes it. */
  readonly rule: string;
  /** What the receiver does. */
  readonly receiver: string;
  /** What the bridge does. */
  readonly bridge: string;
  readonly why: string;
  /** True for a difference that this row explains. */
  readonly explains: (difference: Difference, step: ComparedStep) => boolean;
}

/** True if the difference is a whole point that only this side has. */
export function isOnly(difference: Difference, side: 'ours' | 'theirs'): boolean {
  return difference.field === 'point' && difference[side] !== null;
}

/** The bridge's point, or the receiver's if the bridge has none. */
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
