// Figures as words, the same in terminal and documents.

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
