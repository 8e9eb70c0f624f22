// What stands for several runs, and figures as words, the same in terminal and documents.

/** Of an even number, the mean of the two in the middle; NaN of none. */
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

/** A number with a comma at the thousands. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** `0.38 (0.36 to 0.41)`: the median of the runs, and between what they lie. */
export function spread(values: readonly number[], show: (value: number) => string): string {
  const middle = show(median(values));
  if (values.length < 2) return middle;
  return `${middle} (${show(Math.min(...values))} to ${show(Math.max(...values))})`;
}
