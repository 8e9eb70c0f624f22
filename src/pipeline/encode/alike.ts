// How much of a number repeats another one. In: a number as the two halves in which it stands in the payload, and its
// place among the numbers of its block. Out: bytes.

/** Of a number in the payload. */
export const NUMBER_BYTES = 8;

/** How many bytes, from the lowest on, are those of another of the numbers. */
export function alikeBelow(numbers: DataView, number: number, low: number, high: number): number {
  const differs = low ^ numbers.getInt32(number * NUMBER_BYTES, true);
  if (differs !== 0) return (31 - Math.clz32(differs & -differs)) >>> 3;
  const above = high ^ numbers.getInt32(number * NUMBER_BYTES + 4, true);
  return above === 0 ? NUMBER_BYTES : 4 + ((31 - Math.clz32(above & -above)) >>> 3);
}

/** The same from the highest on. */
export function alikeAbove(numbers: DataView, number: number, low: number, high: number): number {
  const differs = high ^ numbers.getInt32(number * NUMBER_BYTES + 4, true);
  if (differs !== 0) return Math.clz32(differs) >>> 3;
  const below = low ^ numbers.getInt32(number * NUMBER_BYTES, true);
  return 4 + (Math.clz32(below) >>> 3);
}
