// The median of several runs, and figures as text, the same in the terminal and in documents.

/** The mean of the two middle values if their number is even; NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (
    ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
  );
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

export function percent(value: number, digits = 2): string {
  return `${value.toFixed(digits)} %`;
}

/** A whole number with commas between the thousands. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** `0.38 (0.36 to 0.41)`: the median of the runs, with the lowest and the highest. */
export function spread(values: readonly number[], show: (value: number) => string): string {
  const middle = show(median(values));
  if (values.length < 2) return middle;
  return `${middle} (${show(Math.min(...values))} to ${show(Math.max(...values))})`;
}
