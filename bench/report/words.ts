// Figures as words, the same in terminal and documents.

import { median } from './median.ts';

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
