// Which process of a test it is.

/** Each says its number, from 1 on, with everything it sends: the sink may learn late that one has ended. */
export const LIFE_HEADER = 'x-life';

/** A process, from its start to its end. */
export interface Life {
  readonly number: number;
  /** It did not end by itself. */
  isKilled: boolean;
}
